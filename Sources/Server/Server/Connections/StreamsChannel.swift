import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import StratusRecords

/// Serves the streams of a connection of HTTP/2, each with one request and its own ``StreamCounter``.
///
/// Limits what a client may send without being read: streams at a time, frames that reset or control, the bytes of
/// heads. NIO closes a connection that exceeds these limits.
struct StreamsChannel: Sendable {
    typealias Stream = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    /// A request that is being served, and what it holds.
    struct ServedStream: Sendable {
        let channel: Stream
        let ledger: ConnectionLedger
    }

    typealias Value = NIOHTTP2Handler.AsyncStreamMultiplexer<ServedStream>

    /// The most requests of a connection at a time.
    private static let streamsPerConnection = 100
    /// The most bytes of a request's head; each header counts 32 more than it has.
    private static let headBytes = 32_768
    /// The most frames that wait to be sent while the client does not read.
    private static let bufferedControlFrames = 500
    /// How long requests may continue once the service is stopping; `stratus serve` ends them earlier.
    private static let graceSeconds: Int64 = 30

    let http: HTTP1Channel
    let handlers: @Sendable () -> [any RemovableChannelHandler]
    let meter: ConnectionMeter

    func setUp(_ channel: any Channel, _ logger: Logger) throws -> Value {
        let idle = TimeAmount.milliseconds(Int64(meter.limits.connectionIdleSeconds * 1_000))
        let manager = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: idle,
                maxAge: nil, maxGraceTime: .seconds(Self.graceSeconds), keepalive: nil))
        var configuration = NIOHTTP2Handler.Configuration()
        configuration.connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.streamsPerConnection),
            HTTP2Setting(
                parameter: .maxHeaderListSize,
                value: min(Self.headBytes, meter.limits.requestHeadBytes)),
        ]
        configuration.connection.maximumBufferedControlFrames = Self.bufferedControlFrames
        // Frames that a client had sent for streams that were all refused at the same time are ignored.
        configuration.connection.maximumRecentlyResetStreams = 2 * Self.streamsPerConnection
        // The manager measures from the end of a stream: this closes a connection that never has one.
        let silence = channel.eventLoop.scheduleTask(in: idle) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in silence.cancel() }
        let pipeline = channel.pipeline.syncOperations
        let streams = try pipeline.configureAsyncHTTP2Pipeline(
            mode: .server, streamDelegate: manager.http2StreamDelegate,
            configuration: configuration
        ) { stream in
            silence.cancel()
            return stream.eventLoop.makeCompletedFuture { try setUp(stream: stream) }
        }
        try pipeline.addHandler(manager)
        try pipeline.addHandler(Failures())
        return streams
    }

    private func setUp(stream: any Channel) throws -> ServedStream {
        let counter = StreamCounter(
            meter.ledger(of: stream), limits: meter.limits, world: meter.world)
        let pipeline = stream.pipeline.syncOperations
        try pipeline.addHandler(counter)
        try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
        try pipeline.addHandler(
            meter.requestCounter(
                counter, of: stream, headersPerRequest: meter.limits.headersPerRequest))
        try pipeline.addHandlers(handlers())
        return ServedStream(
            channel: try Stream(wrappingChannelSynchronously: stream), ledger: counter.ledger)
    }

    /// Serves all streams until the connection ends.
    func handle(_ value: Value, on connection: any Channel, _ logger: Logger) async {
        do {
            try await withThrowingDiscardingTaskGroup { group in
                for try await stream in value.inbound {
                    group.addTask {
                        await ConnectionLedger.$current.withValue(stream.ledger) {
                            await http.handle(value: stream.channel, logger: logger)
                        }
                    }
                }
            }
        } catch {
            logger.trace("A connection of HTTP/2 ended: \(error)")
        }
        // It may be closed already, and nothing waits for its end.
        connection.close(promise: nil)
    }
}

/// Closes a connection of HTTP/2 whose client broke the protocol; NIO has sent the client the reason.
private final class Failures: ChannelInboundHandler, Sendable {
    typealias InboundIn = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An error of one stream does not affect the others.
        if error is NIOHTTP2Errors.StreamError { return }
        // Nothing waits for the end of a connection that is given up.
        context.close(promise: nil)
    }
}
