import Hummingbird
import NIOCore

/// What a route knows of its request beside the request: the connection that it came in by.
struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The network that the peer is in (``NetworkAddress``); nil when it has none.
    var networkAddress: String? { channel.remoteAddress.flatMap(NetworkAddress.name) }

    /// Closes the connection without an answer.
    func drop() {
        // Nobody waits for the end of a connection that is dropped.
        channel.close(promise: nil)
    }
}

/// What of an address tells one client's network from another's.
enum NetworkAddress {
    /// An IPv4 address as it is; of an IPv6 address the first 64 bits, because whoever has one has all
    /// addresses that begin with them.
    static func name(of address: SocketAddress) -> String? {
        switch address {
        case .v4: return address.ipAddress
        case .v6(let address):
            return withUnsafeBytes(of: address.address.sin6_addr) { bytes in
                // An IPv4 client of a socket that listens to both: ::ffff:a.b.c.d.
                if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
                    return bytes[12..<16].map(String.init).joined(separator: ".")
                }
                return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
            }
        case .unixDomainSocket: return nil
        }
    }

    /// The client's address as the last proxy tells it: the last element of `X-Forwarded-For`.
    static func name(forwardedFor header: String) -> String? {
        guard let last = header.split(separator: ",").last else { return nil }
        let text = last.drop { $0 == " " }.prefix { $0 != " " }
        guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            // No address: the proxy says "unknown" or a name. All such clients share one bucket.
            return "unknown"
        }
        return name(of: address)
    }
}
