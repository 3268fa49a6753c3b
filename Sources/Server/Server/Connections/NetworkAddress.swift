import NIOCore

/// The part of an address that identifies one client's network.
enum NetworkAddress {
    /// The common name of all clients whose address is not known.
    static let unknown = "unknown"

    /// An IPv4 address unchanged; of an IPv6 address the first 64 bits, because a client with one has all addresses
    /// that begin with them.
    static func name(of address: SocketAddress) -> String? {
        guard let bytes = bytes(of: address) else { return nil }
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: 8, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }

    /// The four bytes of an IPv4 address, also when it is mapped into IPv6, or the 16 of any other.
    static func bytes(of address: SocketAddress) -> [UInt8]? {
        switch address {
        case .v4(let address):
            return withUnsafeBytes(of: address.address.sin_addr) { [UInt8]($0) }
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { [UInt8]($0) }
            // An IPv4 client of a socket that listens to both has the form ::ffff:a.b.c.d.
            let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
            return bytes.starts(with: mapped) ? Array(bytes[12...]) : bytes
        case .unixDomainSocket: return nil
        }
    }
}
