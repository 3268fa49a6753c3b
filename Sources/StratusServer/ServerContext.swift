import Hummingbird
import NIOCore

/// What the routes know of a request besides the request.
struct ServerContext: Hummingbird.RequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
    }
}

extension Routes {
    /// Names where a request comes from, for counting attempts.
    ///
    /// Behind a proxy that is the last address that the proxy added. Of an IPv6 address the network
    /// counts: one house has 2^64 of the others.
    func networkAddress(of request: Request, _ context: ServerContext) -> String {
        var address = context.remoteAddress?.ipAddress ?? "unknown"
        if isBehindProxy, let forwarded = request.headers[.forwardedFor] {
            address =
                forwarded.split(separator: ",").last.map {
                    String($0.drop { $0 == " " }.prefix(64))
                } ?? address
        }
        guard address.contains(":") else { return address }
        return address.split(separator: ":", omittingEmptySubsequences: false).prefix(4)
            .joined(separator: ":")
    }
}
