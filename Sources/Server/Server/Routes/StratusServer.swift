import HTTPTypes
import Hummingbird
import HummingbirdCore
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
///   - trustedProxies: Who is believed about where requests come from.
///   - hostNames: Names by which the service may be called, beside the address that it listens on and
///     this machine's own; only where there is no public origin.
///   - isDevelopmentOpen: Whether what is for development may be used from other machines.
///   - metrics: Counts requests, and is what `/metrics` answers; nil counts nothing.
///   - metricsToken: Who shows it may read the metrics from other machines.
///   - tls: The certificate and key to speak TLS with; nil speaks plain HTTP.
///   - tellsTime: Whether each answer says in the header `Server-Timing` how long it took.
///   - onListening: Called with the port once requests are taken.
public func buildServer(
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
    /// Everything that is served: the protocol, the pages, and an answer for all other addresses.
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
        // Which methods an address has is known when all routes are there.
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

/// How long a connection may be silent, and how much a request's head may have.
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
