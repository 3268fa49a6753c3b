import Hummingbird
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage

/// Runs an application on a free port of this machine while `body` runs, which gets the port.
package func withServer(
    _ application: (_ listening: @escaping @Sendable (Int) async -> Void) throws
        -> any ApplicationProtocol,
    _ body: @escaping @Sendable (Int) async throws -> Void
) async throws {
    let (ports, port) = AsyncStream<Int>.makeStream()
    let application = try application { port.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        for await number in ports {
            try await body(number)
            break
        }
        group.cancelAll()
    }
}

/// Serves a service on a free port of this machine while `body` runs, which gets the port.
package func withServer(
    _ service: CloudService, publicOrigin: String? = nil, tls: TLSFiles? = nil,
    trustedProxies: TrustedProxies = .none, hostNames: [String] = [],
    isDevelopmentOpen: Bool = false, metrics: PrometheusMetrics? = nil,
    metricsToken: String? = nil, tellsTime: Bool = false,
    logger: Logger = Logger(label: "test"),
    _ body: @escaping @Sendable (Int) async throws -> Void
) async throws {
    try await withServer(
        { listening in
            try buildServer(
                service, host: "127.0.0.1", port: 0, publicOrigin: publicOrigin, tls: tls,
                trustedProxies: trustedProxies, hostNames: hostNames,
                isDevelopmentOpen: isDevelopmentOpen, metrics: metrics,
                metricsToken: metricsToken, tellsTime: tellsTime, logger: logger,
                onListening: listening)
        }, body)
}

/// Serves routes that are not Stratus's on a free port of this machine while `body` runs.
package func withServer(
    _ router: Router<BasicRequestContext>, _ body: @escaping @Sendable (Int) async throws -> Void
) async throws {
    try await withServer(
        { listening in
            Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { await listening($0.localAddress?.port ?? 0) },
                logger: Logger(label: "test"))
        }, body)
}

extension CloudService {
    /// A service for development with its data in memory.
    package static func forDevelopment(
        limits: Limits = Limits(), isThrottled: Bool = true
    ) -> CloudService {
        CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(
                isForDevelopment: true, limits: limits, isThrottled: isThrottled))
    }
}

/// Routes that answer every request in one way, whatever its method and path.
package func everyRequest(
    _ answer: @escaping @Sendable (Request) async throws -> Response
) -> Router<BasicRequestContext> {
    let router = Router(context: BasicRequestContext.self)
    router.add(middleware: EveryRequest(answer: answer))
    return router
}

private struct EveryRequest: RouterMiddleware {
    typealias Context = BasicRequestContext

    let answer: @Sendable (Request) async throws -> Response

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try await answer(request)
    }
}
