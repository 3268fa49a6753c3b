/// Where a browser may go with a web-auth token: exactly the address that was set for an API token.
///
/// A loopback address without a port, such as `http://127.0.0.1/`, stands for itself with every port (RFC 8252, 7.3): a
/// program on the person's own machine takes a free one for each sign-in. An address with an app's own scheme has a dot
/// in the scheme, as in `org.example.trails:/signed-in` (RFC 8252, 7.1).
package struct CallbackAddress: Hashable, Sendable {
    /// What `stratus token create --loopback` gives.
    package static let loopback = "http://127.0.0.1/"

    private static let loopbackHosts = ["http://127.0.0.1", "http://[::1]"]
    /// The most bytes of an address.
    private static let maximumBytes = 2_000
    /// The most bytes of the state that an app adds to it.
    private static let maximumStateBytes = 128

    package let text: String
    /// The address in a page's content security policy: an origin, or a scheme with its colon.
    package let source: String

    /// - Returns: Nil unless it is an http or https address, or one with an app's own scheme.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, !text.contains("#"),
            let source = WebOrigin.origin(of: text) ?? Self.appScheme(of: text)
        else { return nil }
        self.text = text
        self.source = source
    }

    /// The loopback host without a port; nil for another address.
    private var loopbackHost: String? {
        Self.loopbackHosts.first { text.hasPrefix($0 + "/") }
    }

    package var isLoopback: Bool { loopbackHost != nil }

    /// Whether a browser may go to the address that a request asks for. It is compared character by character: two
    /// spellings of a host, a user name before it or a path with dots in it are never taken for the same.
    package func allows(_ asked: String) -> Bool {
        guard let host = loopbackHost else { return asked == text }
        guard asked.hasPrefix(host + ":") else { return false }
        let rest = asked.dropFirst(host.utf8.count + 1)
        let digits = rest.prefix { ("0"..."9").contains($0) }
        guard let port = UInt16(digits), port > 0, String(port) == digits else { return false }
        return rest.dropFirst(digits.count) == text.dropFirst(host.utf8.count)
    }

    /// Whether a text is acceptable as the app's `state`, which is returned with the token.
    package static func isState(_ text: String) -> Bool {
        (1...maximumStateBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || [0x2D, 0x2E, 0x5F, 0x7E].contains($0)
            }
    }

    /// Where the browser goes: the address with the token and the app's `state`.
    package func address(escapedToken token: String, state: String) -> String {
        let sign = text.contains("?") ? "&" : "?"
        let end = state.isEmpty ? "" : "&state=\(state)"
        return "\(text)\(sign)ckWebAuthToken=\(token)&ckSession=\(token)\(end)"
    }

    /// The scheme of an app's own address, with its colon.
    private static func appScheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix(":/"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        let scheme = text[..<colon]
        let isName = scheme.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || [0x2D, 0x2E].contains($0)
        }
        let parts = scheme.split(separator: ".", omittingEmptySubsequences: false)
        guard isName, parts.count > 1, !parts.contains(where: \.isEmpty),
            let first = scheme.utf8.first, (0x61...0x7A).contains(first)
        else { return nil }
        return scheme + ":"
    }
}
