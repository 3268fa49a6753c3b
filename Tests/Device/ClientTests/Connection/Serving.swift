import Hummingbird
import Logging

/// Runs a server on a free port while `body` runs.
func serve(
    _ server: (_ listening: @escaping @Sendable (Int) async -> Void) throws
        -> any ApplicationProtocol,
    _ body: @escaping @Sendable (Int) async throws -> Void
) async throws {
    let (ports, port) = AsyncStream<Int>.makeStream()
    let application = try server { port.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        for await number in ports {
            try await body(number)
            break
        }
        group.cancelAll()
    }
}

/// A server that answers whatever it is asked with one body.
func answering(
    _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
) -> (@escaping @Sendable (Int) async -> Void) -> any ApplicationProtocol {
    { listening in
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: OneAnswer(write: write))
        return Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { await listening($0.localAddress?.port ?? 0) },
            logger: Logger(label: "test"))
    }
}

private struct OneAnswer: RouterMiddleware {
    typealias Context = BasicRequestContext

    let write: @Sendable (inout any ResponseBodyWriter) async throws -> Void

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        Response(
            status: .ok,
            body: ResponseBody { writer in
                try await write(&writer)
                try await writer.finish(nil)
            })
    }
}
