import NIOCore
import StratusRecords
import StratusWire

/// Answers clients that speak plain HTTP to a port for TLS; otherwise the connection would just be closed. It is in
/// front of the TLS handler: no record of TLS begins with a letter.
///
/// `@unchecked`: NIO calls a handler only on its channel's event loop.
final class PlainRequests: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Bytes of a refused request that are read and dropped, so that its client can read the answer.
    private static let forgottenBytes = 1_000_000

    private let newUUID: @Sendable () -> String
    private var isRefused = false
    private var forgotten = 0

    init(newUUID: @escaping @Sendable () -> String) {
        self.newUUID = newUUID
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isRefused { return forget(bytes, context) }
        guard let first = bytes.readableBytesView.first else { return }
        guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else {
            context.fireChannelRead(data)
            // It cannot fail: a handler that is called is in its pipeline.
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return
        }
        isRefused = true
        // Nothing waits for the answer to be sent; the connection ends within the time for a head.
        context.writeAndFlush(wrapOutboundOut(answer(context.channel.allocator)), promise: nil)
        context.close(mode: .output, promise: nil)
        forget(bytes, context)
    }

    private func forget(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        forgotten += bytes.readableBytes
        // Nothing waits for the end of a connection that is refused.
        if forgotten > Self.forgottenBytes { context.close(promise: nil) }
    }

    private func answer(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        let uuid = newUUID()
        let body = wireBytes(of: ErrorBody(uuid: uuid, error: .plainRequest))
        var answer = allocator.buffer(capacity: body.count + 256)
        answer.writeString(
            "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=UTF-8\r\n"
                + "X-Apple-Request-UUID: \(uuid)\r\nConnection: close\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        answer.writeBytes(body)
        return answer
    }
}

extension ServiceError {
    fileprivate static let plainRequest = ServiceError(
        .badRequest,
        "The plain HTTP request was sent to an HTTPS port: begin the address with https://.")
}
