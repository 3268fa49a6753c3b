import NIOCore
import NIOHTTP1
import NIOPosix
import StratusRuntime
import Synchronization

/// Listens on a free port of this machine for the browser that delivers the token of one sign-in
/// (RFC 8252, 7.3).
///
/// Any program and any web page can connect: a request that is not a browser's navigation to the
/// one address with the sign-in's state is refused, and listening continues. Only the first valid
/// answer is accepted.
final class LoopbackListener: Sendable {
    /// Concurrent connections; a browser opens a few.
    private static let maximumConnections = 32
    /// Seconds that a connection may be idle.
    private static let idleSeconds: Int64 = 30

    let port: Int
    /// Delivers one element: the token.
    let tokens: AsyncStream<String>
    private let channel: any Channel

    private init(port: Int, tokens: AsyncStream<String>, channel: any Channel) {
        self.port = port
        self.tokens = tokens
        self.channel = channel
    }

    /// - Parameter next: where the browser is redirected when the token was accepted, so that no
    ///   address with the token stays visible.
    static func begin(
        for callback: SignInCallback, next: String
    ) async throws -> LoopbackListener {
        let (tokens, continuation) = AsyncStream<String>.makeStream(
            bufferingPolicy: .bufferingOldest(1))
        let callbackGuard = CallbackGuard(callback: callback, next: next, tokens: continuation)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard callbackGuard.admit(upTo: maximumConnections) else {
                        throw ChannelError.ioOnClosedChannel
                    }
                    channel.closeFuture.whenComplete { _ in callbackGuard.release() }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(
                        IdleStateHandler(allTimeout: .seconds(idleSeconds)))
                    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try pipeline.addHandler(LoopbackHandler(callbackGuard: callbackGuard))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        callbackGuard.listens(on: port)
        return LoopbackListener(port: port, tokens: tokens, channel: channel)
    }

    /// Stops listening; a browser that is being answered still gets its answer.
    func close() async {
        // It fails only if the channel is already closed, which is the intended result.
        try? await channel.close()
    }
}

/// Decides which request may deliver the token.
final class CallbackGuard: Sendable {
    /// The answer to a request.
    enum Answer: Equatable {
        case token(String)
        case refused(HTTPResponseStatus, String)
    }

    private struct State {
        var port = 0
        var connections = 0
        var isTaken = false
    }

    let next: String
    private let callback: SignInCallback
    private let tokens: AsyncStream<String>.Continuation
    private let state = Mutex(State())

    init(callback: SignInCallback, next: String, tokens: AsyncStream<String>.Continuation) {
        self.callback = callback
        self.next = next
        self.tokens = tokens
    }

    func listens(on port: Int) { state.withLock { $0.port = port } }

    /// - Returns: whether the connection is admitted; the caller calls `release` when it ends.
    func admit(upTo maximum: Int) -> Bool {
        state.withLock { state in
            guard state.connections < maximum else { return false }
            state.connections += 1
            return true
        }
    }

    func release() { state.withLock { $0.connections -= 1 } }

    /// Delivers the token after the browser was answered.
    func deliver(_ token: String) {
        tokens.yield(token)
        tokens.finish()
    }

    func answer(to head: HTTPRequestHead) -> Answer {
        // A request with another host name may come from another site's page whose name resolves to
        // this machine (DNS rebinding).
        let port = state.withLock { $0.port }
        guard head.headers["Host"] == ["127.0.0.1:\(port)"] else {
            return .refused(
                .misdirectedRequest,
                "This address is not the app's; go back to the app and sign in again.")
        }
        guard head.method == .GET else {
            return .refused(
                .methodNotAllowed,
                "The sign-in was not returned with GET; go back to the app and sign in again.")
        }
        // A request that a page makes by itself is not a navigation by the person.
        for (name, value) in [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
        where head.headers[name].contains(where: { $0 != value }) {
            return .refused(
                .forbidden,
                "A page sent this request by itself, and only a person's browser may; go back to the app"
                    + " and sign in again.")
        }
        let parts = head.uri.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "/",
            let token = callback.token(inQuery: String(parts[1]))
        else {
            return .refused(
                .badRequest,
                "The address is not the answer to the sign-in that the app waits for; go back to the app and"
                    + " sign in again.")
        }
        let isFirst = state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
        return isFirst
            ? .token(token) : .refused(.gone, "The app is already signed in; close this page.")
    }
}

/// Answers one request of a connection and closes it.
private final class LoopbackHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let callbackGuard: CallbackGuard
    private var isAnswered = false

    init(callbackGuard: CallbackGuard) {
        self.callbackGuard = callbackGuard
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), !isAnswered else { return }
        isAnswered = true
        var headers = HTTPHeaders([
            ("Connection", "close"), ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
            ("Content-Type", "text/plain; charset=utf-8"),
        ])
        let callbackGuard = callbackGuard
        let channel = context.channel
        switch callbackGuard.answer(to: head) {
        case .token(let token):
            headers.add(name: "Location", value: callbackGuard.next)
            send(.seeOther, headers, "", context).whenComplete { _ in
                callbackGuard.deliver(token)
                channel.close(promise: nil)
            }
        case .refused(let status, let sentence):
            send(status, headers, sentence + "\n", context).whenComplete { _ in
                channel.close(promise: nil)
            }
        }
    }

    private func send(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ text: String,
        _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        var headers = headers
        headers.add(name: "Content-Length", value: String(text.utf8.count))
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        return context.writeAndFlush(wrapOutboundOut(.end(nil)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
