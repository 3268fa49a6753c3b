import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import StratusRecords
import StratusService
import StratusWire

/// Builds the HTTP server around a service: for `stratus serve`, for tests and for the demo.
///
/// ```swift
/// let server = try buildServer(
///     service, host: "127.0.0.1", port: 0, logger: Logger(label: "stratus")
/// ) { port in print(port) }
/// try await server.runService()
/// ```
///
/// - Parameters:
///   - host: The address to listen on.
///   - port: The port to listen on; 0 chooses a free port.
///   - publicOrigin: The origin of the addresses in answers, such as `https://cloud.example.org`; nil takes the Host
///     that each request names.
///   - trustedProxies: The proxies that are trusted to say where requests come from.
///   - hostNames: Names under which the service may be called, besides the address that it listens on and this
///     machine's own; only without a public origin.
///   - isDevelopmentOpen: Whether other machines may use the endpoints for development.
///   - metrics: Counts requests, and is what `/metrics` answers; nil counts nothing.
///   - metricsToken: The token with which other machines may read the metrics.
///   - tls: The certificate and key for TLS; nil serves plain HTTP.
///   - tellsTime: Whether each answer has the header `Server-Timing` with the time that it took.
///   - onListening: Called with the port when the server is ready for requests.
package func buildServer(
    _ service: CloudService, host: String, port: Int, publicOrigin: String? = nil,
    tls: TLSFiles? = nil, trustedProxies: TrustedProxies = .none, hostNames: [String] = [],
    isDevelopmentOpen: Bool = false, metrics: PrometheusMetrics? = nil,
    metricsToken: String? = nil, tellsTime: Bool = false, logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void
) throws -> some ApplicationProtocol {
    let routes = Routes(
        service: service, logger: logger, publicOrigin: publicOrigin, isTLS: tls != nil,
        proxies: trustedProxies, names: ServiceNames(listeningOn: host, and: hostNames),
        metrics: metrics.map { RequestMetrics($0) }, metricsToken: metricsToken,
        isDevelopmentOpen: isDevelopmentOpen)
    let limits = service.settings.limits
    let timing = tellsTime ? ServerTiming(world: service.settings.world) : nil
    let connections = Connections(
        maximum: limits.connections, perAddress: limits.connectionsPerAddress,
        proxies: trustedProxies)
    let handlers: @Sendable () -> [any RemovableChannelHandler] = {
        timing.map { [$0.handler()] } ?? []
    }
    let meter = ConnectionMeter(
        proxies: trustedProxies, budget: service.memory, limits: limits,
        world: service.settings.world)
    let server = HTTPServerBuilder { responder in
        let http = HTTP1Channel(
            responder: responder, configuration: connectionConfiguration(limits, handlers))
        return MeteredChannel(
            http: http, streams: StreamsChannel(http: http, handlers: handlers, meter: meter),
            tls: tls, connections: connections, meter: meter,
            newUUID: { service.newUUID() })
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
    /// All routes: the protocol, the pages, and an answer for all other addresses.
    func router(_ timing: ServerTiming? = nil) throws -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        if let timing { router.add(middleware: timing.middleware()) }
        if let metrics {
            router.add(
                middleware: RequestCounting(metrics: metrics, world: service.settings.world))
        }
        router.add(middleware: AnswerNaming(service: service))
        router.add(middleware: NameCheck(routes: self))
        if service.settings.isForDevelopment {
            router.add(middleware: DevelopmentCheck(routes: self, isOpen: isDevelopmentOpen))
        }
        router.add(middleware: CrossOrigin(service: service))
        router.add(middleware: InflatedBodies(service: service))
        // Last, since the methods of an address are known only when all routes are added.
        let pages = SignInPages(routes: self, pages: try Pages())
        let all = Router(context: ServerContext.self)
        add(to: all)
        pages.add(to: all)
        router.add(
            middleware: UnknownAddress(service: service, methods: MethodTable(all.routes)))
        add(to: router)
        pages.add(to: router)
        return router
    }
}

/// How long a connection may be idle, and how large a request's head may be.
private func connectionConfiguration(
    _ limits: Limits, _ handlers: @escaping @Sendable () -> [any RemovableChannelHandler]
) -> HTTP1Channel.Configuration {
    HTTP1Channel.Configuration(
        additionalChannelHandlers: handlers(),
        idleTimeout: .milliseconds(Int64(limits.connectionIdleSeconds * 1_000)),
        httpDecoderConfiguration: .init(
            maxHeaderFieldSize: limits.requestHeadBytes, maxHeaderListSize: limits.requestHeadBytes,
            maxHeaderFieldCount: limits.headersPerRequest))
}
