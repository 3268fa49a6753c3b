import NIOCore
import NIOHTTP1

/// Tells a connection's ``ByteCounter`` where requests and answers begin and end. Stands behind the
/// codec of HTTP/1.
///
/// `@unchecked`: NIO calls a handler on its channel's event loop alone.
final class RequestCounter: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let bytes: ByteCounter
    private let proxies: TrustedProxies
    private let peer: SocketAddress?

    init(_ bytes: ByteCounter, proxies: TrustedProxies, peer: SocketAddress?) {
        self.bytes = bytes
        self.proxies = proxies
        self.peer = peer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            bytes.headArrived()
            // All of a proxy's connections carry requests of whoever comes.
            if !proxies.isEmpty {
                let client = proxies.client(
                    peer: peer, forwardedFor: head.headers["x-forwarded-for"])
                bytes.ledger.memory.assign(toUser: nil)
                bytes.ledger.memory.assign(toAddress: client)
            }
        case .body: break
        case .end: bytes.requestEnded()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.status.code >= 200 {
                bytes.answerBegins(closing: head.headers["connection"].first == "close")
            }
            context.write(data, promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            bytes.answerEnded()
        }
    }
}
