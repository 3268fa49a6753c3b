import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOHTTPTypesHTTP2
import StratusRecords
import StratusService
import StratusWire

/// Observes where requests and answers begin and end: a ``ByteCounter``.
protocol RequestWatching: AnyObject {
    var ledger: ConnectionLedger { get }

    func headArrived()
    func requestEnded()
    func answerBegins(closing: Bool)
    func answerEnded()
}

extension ByteCounter: RequestWatching {}

/// Reports to the ``ByteCounter`` of a connection or stream where requests and answers begin and end. Comes after the
/// codec.
///
/// `@unchecked`: NIO calls a handler only on its channel's event loop.
final class RequestCounter: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let bytes: any RequestWatching
    private let proxies: TrustedProxies
    private let peer: SocketAddress?
    /// The most headers of a request, where no codec counts them.
    private let headersPerRequest: Int?
    /// Whether a request's body is arriving.
    private var isArriving = false
    /// Whether the stream was refused; what still arrives is dropped.
    private var isRefused = false

    /// - Parameter headersPerRequest: The limit for a stream of HTTP/2; nil for a connection.
    init(
        _ bytes: any RequestWatching, proxies: TrustedProxies, peer: SocketAddress?,
        headersPerRequest: Int? = nil
    ) {
        self.bytes = bytes
        self.proxies = proxies
        self.peer = peer
        self.headersPerRequest = headersPerRequest
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard head.headerFields.count <= headersPerRequest ?? .max else {
                isRefused = true
                // Not immediately: the connection must first have registered the stream. Nothing waits for its end.
                let stream = context.channel
                return context.eventLoop.execute { stream.close(promise: nil) }
            }
            bytes.headArrived()
            isArriving = true
            // A proxy's connections carry requests of many clients.
            if !proxies.isEmpty {
                let client = proxies.client(
                    peer: peer, forwardedFor: head.headerFields[values: .forwardedFor])
                bytes.ledger.memory.assign(toUser: nil)
                bytes.ledger.memory.assign(toAddress: client)
            }
        case .body: break
        case .end:
            isArriving = false
            bytes.requestEnded()
        }
        context.fireChannelRead(data)
    }

    /// A stream that ends with its connection does not pass its end on, since its body must not look complete.
    func channelInactive(context: ChannelHandlerContext) {
        if isArriving, headersPerRequest != nil {
            context.fireErrorCaught(RequestFailure(.bodyBroken, unreadBody: .refused))
        }
        context.fireChannelInactive()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if head.status.kind != .informational {
                bytes.answerBegins(closing: head.headerFields[.connection] == "close")
            }
            // HTTP/2 does not have this header: each stream ends on its own.
            if headersPerRequest != nil { head.headerFields[.connection] = nil }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            bytes.answerEnded()
        }
    }
}
