import Hummingbird
import NIOCore

/// What the server knows of a request besides the request: the connection that it came in by.
struct ServerContext: Hummingbird.RequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    var remoteAddress: SocketAddress? { channel.remoteAddress }

    /// Which of the open connections it is.
    var connection: ObjectIdentifier { ObjectIdentifier(channel) }

    /// Closes the connection without an answer.
    func drop() {
        // Nobody waits for the end of a connection that is dropped.
        channel.close(promise: nil)
    }
}

extension Routes {
    /// Names where a request comes from, for counting: the peer's network, or behind a proxy the one
    /// that the proxy names last in `X-Forwarded-For`.
    func networkAddress(of request: Request, _ context: ServerContext) -> String {
        if isBehindProxy, let forwarded = request.headers[.forwardedFor] {
            return NetworkAddress.name(forwardedFor: forwarded)
        }
        return context.remoteAddress.flatMap(NetworkAddress.name) ?? NetworkAddress.unknown
    }
}

/// What of an address tells one client's network from another's.
enum NetworkAddress {
    /// All clients whose address nobody tells share this name.
    static let unknown = "unknown"

    /// An IPv4 address as it is; of an IPv6 address the first 64 bits, because whoever has one has all
    /// addresses that begin with them.
    static func name(of address: SocketAddress) -> String? {
        switch address {
        case .v4: return address.ipAddress
        case .v6(let address):
            return name(ofIPv6: withUnsafeBytes(of: address.address.sin6_addr) { [UInt8]($0) })
        case .unixDomainSocket: return nil
        }
    }

    private static func name(ofIPv6 bytes: [UInt8]) -> String {
        // An IPv4 client of a socket that listens to both: ::ffff:a.b.c.d.
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) {
            return bytes[12...].map { String($0) }.joined(separator: ".")
        }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }

    /// The client's address as the last proxy tells it: the last element of `X-Forwarded-For`.
    static func name(forwardedFor header: String) -> String {
        let last = header.split(separator: ",").last ?? ""
        let text = last.drop { $0 == " " }.prefix { $0 != " " }
        // Not an address: the proxy says "unknown" or a name.
        guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            return unknown
        }
        return name(of: address) ?? unknown
    }
}
