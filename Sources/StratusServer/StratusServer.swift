import HTTPTypes
import Hummingbird
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
/// let server = buildServer(service, host: "127.0.0.1", port: 0) { port in print(port) }
/// try await server.runService()
/// ```
///
/// - Parameters:
///   - host: The address to listen on.
///   - port: The port to listen on; 0 takes a free one.
///   - publicOrigin: What stands before the paths in addresses that are handed out, such as
///     `https://cloud.example.org`; nil takes the Host that each request names.
///   - tls: The certificate and key to speak TLS with; nil speaks plain HTTP.
///   - makeUUID: Names errors, in answers and in the log.
///   - onListening: Called with the port once requests are taken.
public func buildServer(
    _ service: CloudService, host: String, port: Int, publicOrigin: String? = nil,
    tls: TLSFiles? = nil, logger: Logger,
    makeUUID: @escaping @Sendable () -> String,
    onListening: @escaping @Sendable (Int) async -> Void
) throws -> some ApplicationProtocol {
    let router = Router(context: ServerContext.self)
    router.add(middleware: CrossOrigin(service: service))
    router.add(middleware: UnknownAddress(makeUUID: makeUUID))
    let routes = Routes(
        service: service, logger: logger, publicOrigin: publicOrigin, isTLS: tls != nil,
        makeUUID: makeUUID)
    routes.add(to: router)
    SignInPages(routes: routes, pages: try Pages()).add(to: router)
    let idleTimeout = TimeAmount.milliseconds(
        Int64(service.settings.limits.connectionIdleSeconds * 1_000))
    return Application(
        router: router,
        server: try tls.map {
            try .tls(
                .http1(configuration: .init(idleTimeout: idleTimeout)),
                tlsConfiguration: $0.configuration)
        } ?? .http1(configuration: .init(idleTimeout: idleTimeout)),
        configuration: .init(address: .hostname(host, port: port), serverName: nil),
        onServerRunning: { channel in
            await onListening(channel.localAddress?.port ?? port)
        },
        logger: logger)
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
