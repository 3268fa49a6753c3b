import NIOCore

/// The proxies that are trusted to say where a request comes from: networks of addresses, such as `10.0.0.0/8` or
/// `2001:db8::/32`.
package struct TrustedProxies: Hashable, Sendable {
    private struct Network: Hashable, Sendable {
        var bytes: [UInt8]
        var bits: Int

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == bytes.count else { return false }
            let whole = bits / 8
            guard address[..<whole] == bytes[..<whole] else { return false }
            guard bits % 8 > 0 else { return true }
            let mask = ~UInt8(0) << UInt8(8 - bits % 8)
            return address[whole] & mask == bytes[whole] & mask
        }
    }

    private var networks: [Network] = []

    /// No proxy is trusted.
    package static let none = TrustedProxies()

    private init() {}

    /// Reads networks separated by commas; a single address is a network of one.
    ///
    /// - Returns: Nil when one of them is invalid.
    package init?(_ text: String) {
        for part in text.split(separator: ",") {
            let halves = part.filter { $0 != " " }.split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = halves.first.flatMap({ Self.address(String($0)) }),
                let bytes = NetworkAddress.bytes(of: address)
            else { return nil }
            var bits = bytes.count * 8
            if halves.count == 2 {
                guard let given = Int(halves[1]), (0...bits).contains(given) else { return nil }
                bits = given
            }
            networks.append(Network(bytes: bytes, bits: bits))
        }
        if networks.isEmpty { return nil }
    }

    var isEmpty: Bool { networks.isEmpty }

    /// The network that a request comes from: the peer's or, if the peer is trusted, that of the last address in
    /// `X-Forwarded-For` that is not itself trusted. Any client may have written what precedes it.
    func client(peer: SocketAddress?, forwardedFor headers: [String]) -> String {
        guard let peer else { return NetworkAddress.unknown }
        var client = peer
        // A header that occurs more than once is one list.
        var rest = headers.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        while contains(client), let last = rest.popLast() {
            // Not an address: the proxy wrote "unknown" or a name.
            guard let next = Self.address(String(last.filter { $0 != " " })) else {
                return NetworkAddress.unknown
            }
            client = next
        }
        return NetworkAddress.name(of: client) ?? NetworkAddress.unknown
    }

    func contains(_ address: SocketAddress) -> Bool {
        guard let bytes = NetworkAddress.bytes(of: address) else { return false }
        return networks.contains { $0.contains(bytes) }
    }

    private static func address(_ text: String) -> SocketAddress? {
        // Nil is the result: the text is not an address.
        try? SocketAddress(ipAddress: text, port: 0)
    }
}
