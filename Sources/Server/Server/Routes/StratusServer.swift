import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import ServiceLifecycle
import StratusRecords
import StratusService
import StratusWire

/// Builds the HTTP server around a service: for `stratus serve`, for tests and for the demo alike.
///
/// ```swift
/// let server = try buildServer(service, host: "127.0.0.1", port: 0) { port in print(port) }
/// try await server.runService()
/// ```
///
/// - Parameters:
///   - host: The address to listen on.
///   - port: The port to listen on; 0 takes a free one.
///   - publicOrigin: What stands before the paths in addresses that are handed out, such as
///     `https://cloud.example.org`; nil takes the Host that each request names.
///   - tls: The certificate and key to speak TLS with; nil speaks plain HTTP.
///   - tellsTime: Whether each answer says in the header `Server-Timing` how long it took.
///   - onListening: Called with the port once requests are taken.
public func buildServer(
    _ service: CloudService, host: String, port: Int, publicOrigin: String? = nil,
    tls: TLSFiles? = nil, tellsTime: Bool = false, logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void
) throws -> some ApplicationProtocol {
    let routes = Routes(
        service: service, logger: logger, publicOrigin: publicOrigin, isTLS: tls != nil)
    let limits = service.settings.limits
    let timing = tellsTime ? ServerTiming(world: service.settings.world) : nil
    var server = HTTPServerBuilder.http1(
        configuration: connectionConfiguration(
            limits, isBehindProxy: routes.isBehindProxy, timing))
    if let tls {
        server = try HTTPServerBuilder.tls(server, tlsConfiguration: tls.configuration)
    }
    return Application(
        router: try routes.router(timing),
        server: server,
        configuration: .init(
            address: .hostname(host, port: port), serverName: nil,
            availableConnectionsDelegate: .maximum(limits.connections, logger: logger)),
        onServerRunning: { channel in
            await onListening(channel.localAddress?.port ?? port)
        },
        logger: logger)
}

extension Routes {
    /// Everything that is served: the protocol, the pages, and an answer for all other addresses.
    func router(_ timing: ServerTiming? = nil) throws -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        if let timing { router.add(middleware: timing.middleware()) }
        router.add(middleware: CrossOrigin(service: service))
        router.add(middleware: UnknownAddress(service: service))
        add(to: router)
        SignInPages(routes: self, pages: try Pages()).add(to: router)
        return router
    }
}

/// How long a connection may be silent, how much a request's head may have, and how many connections an
/// address may have open.
private func connectionConfiguration(
    _ limits: Limits, isBehindProxy: Bool, _ timing: ServerTiming?
) -> HTTP1Channel.Configuration {
    let connections = Connections(
        // All of a proxy's come from one address.
        maximumPerAddress: isBehindProxy ? limits.connections : limits.connectionsPerAddress)
    return HTTP1Channel.Configuration(
        additionalChannelHandlers: [connections.handler()]
            + (timing.map { [$0.handler()] } ?? []),
        idleTimeout: .milliseconds(Int64(limits.connectionIdleSeconds * 1_000)),
        httpDecoderConfiguration: .init(
            maxHeaderFieldSize: limits.requestHeadBytes, maxHeaderListSize: limits.requestHeadBytes,
            maxHeaderFieldCount: limits.headersPerRequest))
}

/// Answers in the protocol's form where no route stands.
private struct UnknownAddress: RouterMiddleware {
    typealias Context = ServerContext

    let service: CloudService

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return Response(RequestFailure(.unknownAddress), uuid: service.newUUID())
        }
    }
}
