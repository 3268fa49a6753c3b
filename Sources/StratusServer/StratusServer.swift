import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import StratusRecords
import StratusService
import StratusWire

/// Builds the HTTP server around a service: for `stratus serve`, for tests and for the demo alike.
///
/// ```swift
/// let server = buildServer(service, host: "127.0.0.1", port: 0) { port in print(port) }
/// try await server.runService()
/// ```
///
/// - Parameters:
///   - host: The address to listen on.
///   - port: The port to listen on; 0 takes a free one.
///   - isBehindProxy: Whether every request comes through a proxy that says in `X-Forwarded-For` whose
///     it is; else the peer's own address counts, and that header nothing.
///   - publicOrigin: What stands before the paths in addresses that are handed out, such as
///     `https://cloud.example.org`; nil takes the Host that each request names.
///   - makeUUID: Names errors, in answers and in the log.
///   - onListening: Called with the port once requests are taken.
public func buildServer(
    _ service: CloudService, host: String, port: Int, publicOrigin: String? = nil,
    isBehindProxy: Bool = false, logger: Logger,
    makeUUID: @escaping @Sendable () -> String,
    onListening: @escaping @Sendable (Int) async -> Void
) -> some ApplicationProtocol {
    let router = Router(context: ServerContext.self)
    router.add(middleware: CrossOrigin())
    router.add(middleware: UnknownAddress(makeUUID: makeUUID))
    Routes(
        service: service, logger: logger, publicOrigin: publicOrigin, isBehindProxy: isBehindProxy,
        makeUUID: makeUUID
    ).add(to: router)
    let limits = service.settings.limits
    let connections = Connections(
        // All of a proxy's come from one address.
        maximumPerAddress: isBehindProxy ? limits.connections : limits.connectionsPerAddress)
    return Application(
        router: router,
        server: .http1(
            configuration: .init(
                additionalChannelHandlers: [connections.handler()],
                idleTimeout: .milliseconds(Int64(limits.connectionIdleSeconds * 1_000)),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: limits.requestHeadBytes,
                    maxHeaderListSize: limits.requestHeadBytes,
                    maxHeaderFieldCount: limits.headersPerRequest))),
        configuration: .init(
            address: .hostname(host, port: port), serverName: nil,
            availableConnectionsDelegate: .maximum(limits.connections, logger: logger)),
        onServerRunning: { channel in
            await onListening(channel.localAddress?.port ?? port)
        },
        logger: logger)
}

/// Lets browsers of any origin use the protocol: it carries its credentials in the query, never in
/// cookies, so an origin has nothing to ride on.
private struct CrossOrigin: RouterMiddleware {
    typealias Context = ServerContext

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let origin = request.headers[.origin] else { return try await next(request, context) }
        var response: Response
        if request.method == .options {
            response = Response(status: .noContent)
            response.headers[.accessControlAllowMethods] = "GET, POST, OPTIONS"
            response.headers[.accessControlAllowHeaders] =
                request.headers[.accessControlRequestHeaders] ?? "content-type"
            response.headers[.accessControlMaxAge] = "600"
        } else {
            response = try await next(request, context)
        }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.vary] = "Origin"
        response.headers[.accessControlExposeHeaders] =
            "X-Apple-CloudKit-Web-Auth-Token, X-Apple-CloudKit-Session, X-Apple-Request-UUID"
        return response
    }
}

/// Answers in the protocol's form where no route stands.
private struct UnknownAddress: RouterMiddleware {
    typealias Context = ServerContext

    let makeUUID: @Sendable () -> String

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return Response(RequestFailure(.unknownAddress), uuid: makeUUID())
        }
    }
}
