import HTTPTypes
import Hummingbird
import NIOCore
import StratusRuntime
import Synchronization

/// Adds to each answer, in the header `Server-Timing`, the milliseconds that the service took: from the arrival of the
/// request's first bytes until the answer was ready. Waiting is included, also for a thread; the time of the network is
/// not.
final class ServerTiming: Sendable {
    private let world: World
    private let arrivals = Mutex<[ObjectIdentifier: Double]>([:])

    init(world: World) {
        self.world = world
    }

    func handler() -> any RemovableChannelHandler { Arrivals(self) }

    func middleware() -> some RouterMiddleware<ServerContext> { Header(timing: self) }

    private func arrived(at connection: ObjectIdentifier) {
        let now = world.uptimeSeconds()
        arrivals.withLock { if $0[connection] == nil { $0[connection] = now } }
    }

    private func forget(_ connection: ObjectIdentifier) {
        arrivals.withLock { $0[connection] = nil }
    }

    /// Milliseconds since the request came.
    private func take(_ connection: ObjectIdentifier) -> Double? {
        let now = world.uptimeSeconds()
        return arrivals.withLock { $0.removeValue(forKey: connection) }.map { (now - $0) * 1_000 }
    }

    private struct Header: ServerMiddleware {
        let timing: ServerTiming

        func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
            var response = try await next(request, context)
            if let milliseconds = timing.take(context.connection),
                let name = HTTPField.Name("Server-Timing")
            {
                let microseconds = Int((milliseconds * 1_000).rounded())
                response.headers[name] =
                    "total;dur=\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst())"
            }
            return response
        }
    }

    /// One connection's handler.
    private final class Arrivals: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = Never

        private let timing: ServerTiming

        init(_ timing: ServerTiming) {
            self.timing = timing
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            timing.arrived(at: ObjectIdentifier(context.channel))
            context.fireChannelRead(data)
        }

        func channelInactive(context: ChannelHandlerContext) {
            timing.forget(ObjectIdentifier(context.channel))
            context.fireChannelInactive()
        }
    }
}
