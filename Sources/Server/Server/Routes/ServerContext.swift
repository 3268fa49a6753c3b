import Hummingbird
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// What the server knows of a request besides the request itself: its connection.
struct ServerContext: Hummingbird.RequestContext, RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel
    /// The service's memory that the connection holds; nil without a connection.
    let ledger = ConnectionLedger.current

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    var remoteAddress: SocketAddress? { channel.remoteAddress }

    /// Identifies the connection among the open ones.
    var connection: ObjectIdentifier { ObjectIdentifier(channel) }

    /// The local address of the connection.
    var localAddress: SocketAddress? { channel.localAddress }

    /// The memory for the work on a request, besides its body: the body as a tree, and as values.
    ///
    /// - Returns: nil without a connection.
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is no memory for it in time.
    func memory(forWorkOn bodyBytes: Int, in service: CloudService) async throws -> HeldMemory? {
        guard let memory = ledger?.memory.sibling() else { return nil }
        let settings = service.settings
        // A single request must always be possible, however small the budget.
        let bytes = min(4 * bodyBytes, service.memory.limitBytes / 4)
        do {
            try await memory.take(
                bytes, waitingSeconds: settings.limits.memoryWaitSeconds, in: settings.world)
        } catch let error as ServiceError {
            throw RequestFailure(error)
        }
        return memory
    }

    /// Closes the connection without an answer.
    func drop() {
        // Nothing waits for the end of a connection that is dropped.
        channel.close(promise: nil)
    }
}

extension Routes {
    /// The network that a request comes from, for counting: the peer's or, if the peer is a trusted proxy, the one that
    /// the proxy names.
    func networkAddress(of request: Request, _ context: ServerContext) -> String {
        proxies.client(
            peer: context.remoteAddress, forwardedFor: request.headers[values: .forwardedFor])
    }
}

/// A middleware that every request of the server passes through.
protocol ServerMiddleware: RouterMiddleware where Context == ServerContext {}

extension ServerMiddleware {
    typealias Next = (Request, ServerContext) async throws -> Response
}
