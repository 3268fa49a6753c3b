import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// The names under which clients may call the service if no public address is set. The addresses in answers are made
/// from them, so a request to any other name is refused.
///
/// Names of this machine's loopback network are always valid: no other page or name server can use them. So are the
/// address that a connection was made to, and the names that the operator sets.
package struct ServiceNames: Sendable {
    private let names: Set<String>

    init(listeningOn host: String, and names: [String]) {
        self.names = Set(([host] + names).map { Self.name($0).lowercased() })
    }

    func contains(_ authority: String, localAddress: SocketAddress?) -> Bool {
        let name = Self.name(authority).lowercased()
        if name.isEmpty { return false }
        if Self.isLoopback(name) || names.contains(name) { return true }
        guard let address = Self.address(name), let localAddress else { return false }
        return NetworkAddress.bytes(of: address) == NetworkAddress.bytes(of: localAddress)
    }

    /// Whether a name or address means the machine itself, for every client.
    package static func isLoopback(_ authority: String) -> Bool {
        let name = name(authority).lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        guard let bytes = address(name).flatMap(NetworkAddress.bytes) else { return false }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    private static func address(_ name: String) -> SocketAddress? {
        // Nil is the result: the name is not an address.
        try? SocketAddress(ipAddress: name, port: 0)
    }

    /// An authority without its port, an IPv6 address without its brackets; empty for anything else. The authority is
    /// copied into addresses unchanged, so nothing after the name may change its meaning.
    private static func name(_ authority: String) -> String {
        var name = authority[...]
        var rest: Substring = ""
        if authority.hasPrefix("[") {
            name = authority.dropFirst().prefix { $0 != "]" }
            rest = authority[name.endIndex...].dropFirst()
        } else if authority.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            // An IPv6 address without brackets has more than one colon.
            name = authority.prefix { $0 != ":" }
            rest = authority[name.endIndex...]
        }
        let isName = name.utf8.allSatisfy(\.isInNames)
        let isAddress = name.utf8.contains(UInt8(ascii: ":")) && address(String(name)) != nil
        let port = rest.dropFirst()
        let hasPort =
            rest.isEmpty
            || rest.hasPrefix(":") && port.utf8.count <= 5
                && port.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return (isName || isAddress) && hasPort ? String(name) : ""
    }
}

extension UInt8 {
    /// Whether the name of a host or of a container may have this byte: letters, digits, dots, hyphens and underscores.
    var isInNames: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: self == UInt8(ascii: ".") || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
        }
    }
}

/// Refuses requests to a name that is not one of the service's.
struct NameCheck: ServerMiddleware {
    let routes: Routes

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        guard routes.publicOrigin == nil, let authority = request.head.authority,
            !routes.names.contains(authority, localAddress: context.localAddress),
            request.uri.path != "/health"
        else { return try await next(request, context) }
        return await routes.respond(to: request) { throw RequestFailure(.foreignName) }
    }
}

/// Refuses requests to the endpoints for development that come from another site's page: a browser sends such requests
/// for any page, and the name of any page can resolve to this machine.
struct DevelopmentCheck: ServerMiddleware {
    let routes: Routes
    /// Whether requests under every name of the service are accepted, not only under the machine's own.
    let isOpen: Bool

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        guard request.firstSegment == "dev", !isOwn(request) else {
            return try await next(request, context)
        }
        return await routes.respond(to: request) { throw RequestFailure(.foreignPage) }
    }

    private func isOwn(_ request: Request) -> Bool {
        let own = routes.origin(of: request)
        if let origin = request.headers[.origin], origin != own { return false }
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" {
            return false
        }
        return isOpen || routes.publicOrigin != nil
            || ServiceNames.isLoopback(request.head.authority ?? "localhost")
    }
}

extension ServiceError {
    /// Without the name: an answer that repeats it would carry it into caches and pages.
    static let foreignName = ServiceError(
        .badRequest,
        """
        The service is not known by the name in the request's Host header; its operator can add the \
        name with --host-name or --public-url.
        """)

    static let foreignPage = ServiceError(
        .accessDenied,
        """
        The endpoints for development are only for this machine's own programs and pages; call them \
        by a name of this machine, such as localhost.
        """)
}
