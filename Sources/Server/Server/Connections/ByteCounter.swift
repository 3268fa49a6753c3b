import NIOCore
import NIOHTTP2
import StratusRecords
import StratusRuntime
import StratusService
import StratusWire

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What bytes travel as: in a connection as they are, in a stream of HTTP/2 as the content of frames.
protocol CountedBytes: SendableMetatype {
    var countedBytes: Int { get }
    /// Whether it is a request's head, and a body follows.
    var beginsBody: Bool { get }
}

/// The innermost handler of a connection: ``ByteCounter`` where bytes are bytes.
typealias ConnectionCounter = ByteCounter<ByteBuffer, IOData>
/// The innermost handler of a stream of HTTP/2.
typealias StreamCounter = ByteCounter<HTTP2Frame.FramePayload, HTTP2Frame.FramePayload>

/// Bytes of a request that are read whatever is held: heads and short bodies always come through.
private let bytesAlwaysRead = 16_384
/// What one read may bring at the most, and what a stream's client may send before it is read.
private let bytesPerRead = 65_536
/// How long the rest of a refused request is read, so that its answer is not lost with the connection.
private let lingerSeconds: Int64 = 2
/// How long a refusal may take to be answered.
private let answerSeconds: Int64 = 10

/// The innermost handler of a connection, or of a stream of HTTP/2: counts its bytes, stops reading while
/// memory is short, and ends it when its client is too slow (``ConnectionPace``).
///
/// `@unchecked`: NIO calls a handler on its channel's event loop alone.
final class ByteCounter<Arriving: CountedBytes, Leaving: CountedBytes>: ChannelDuplexHandler,
    @unchecked Sendable
{
    typealias InboundIn = Arriving
    typealias InboundOut = Arriving
    typealias OutboundIn = Leaving
    typealias OutboundOut = Leaving

    let ledger: ConnectionLedger
    private let world: World
    private let waitSeconds: Double
    private var pace: ConnectionPace
    /// Where this stands in its pipeline, while it does.
    private var context: ChannelHandlerContext?
    private var isLooking = false
    /// Bytes taken for a read that is under way.
    private var credit = 0
    private var largestWrite = 0
    private var writtenBytes = 0
    /// Ends a wait for memory; nil while there is none.
    private var stopWaiting: (@Sendable () -> Void)?
    private var waitEnds = 0.0
    private var isRefused = false
    private var closesAfterAnswer = false
    /// What the stream's client may send before anything of it is read.
    private var reservedBytes = 0
    /// A stream's bytes that its connection has not sent.
    private var unsentInConnection = 0
    private let isStream = Arriving.self == HTTP2Frame.FramePayload.self
    /// Whether the connection's requests are counted by its streams; then only its pace is kept here.
    var carriesStreams = false

    init(_ ledger: ConnectionLedger, limits: Limits, world: World) {
        self.ledger = ledger
        self.world = world
        waitSeconds = limits.memoryWaitSeconds
        pace = ConnectionPace(limits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        stopWaiting?()
        stopWaiting = nil
        ledger.end(keepsUnsent: isStream)
    }

    // MARK: In

    func read(context: ChannelHandlerContext) {
        guard !carriesStreams else { return context.read() }
        guard stopWaiting == nil else { return }
        if credit == 0, ledger.arrivedBytes > bytesAlwaysRead {
            stopWaiting = waitForMemory(context.eventLoop)
            if stopWaiting != nil {
                let now = world.uptimeSeconds()
                pace.paused(at: now)
                if waitEnds == 0 { waitEnds = now + waitSeconds }
                return look()
            }
            credit = bytesPerRead
        }
        waitEnds = 0
        pace.reading(at: world.uptimeSeconds())
        context.read()
    }

    private func waitForMemory(_ eventLoop: any EventLoop) -> (@Sendable () -> Void)? {
        ledger.memory.takeOrWait(bytesPerRead, for: .body) { [weak self] in
            eventLoop.execute { [weak self] in self?.readAgain() }
        }
    }

    private func readAgain() {
        guard stopWaiting != nil, let context else { return }
        stopWaiting = nil
        read(context: context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !carriesStreams else { return context.fireChannelRead(data) }
        let arriving = unwrapInboundIn(data)
        let bytes = arriving.countedBytes
        pace.arrived(bytes, at: world.uptimeSeconds())
        ledger.arrived(bytes)
        if arriving.beginsBody, !reserve(context) { return }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // What arrived is counted by itself now.
        ledger.memory.giveBack(credit)
        credit = 0
        context.fireChannelReadComplete()
        if pace.isWatching { look() }
    }

    /// Counts what the client of a stream may send unasked, since nobody sees it before it is read. Without
    /// room for it the stream ends at once: until it were answered, the client would have sent it.
    private func reserve(_ context: ChannelHandlerContext) -> Bool {
        do {
            try ledger.memory.takeIfFree(bytesPerRead)
            reservedBytes = bytesPerRead
            return true
        } catch {
            // Not begun, so that the client may ask again.
            if let refusal = HTTP2Frame.FramePayload.rstStream(.refusedStream) as? Leaving {
                context.writeAndFlush(wrapOutboundOut(refusal), promise: nil)
            }
            return false
        }
    }

    // MARK: Requests, as the handler behind the HTTP codec sees them

    func headArrived() { pace.headEnded() }

    func requestEnded() {
        pace.bodyEnded()
        ledger.requestEnded()
        ledger.memory.giveBack(reservedBytes)
        reservedBytes = 0
    }

    func answerBegins(closing: Bool) {
        pace.answerBegan()
        closesAfterAnswer = closing
    }

    func answerEnded() {
        ledger.answered()
        if closesAfterAnswer { closeSoon() }
    }

    private func closeSoon(afterSeconds seconds: Int64 = lingerSeconds) {
        context?.eventLoop.scheduleTask(in: .seconds(seconds)) { [weak self] in
            guard let self, let context else { return }
            // An answer that is still on its way ends by its own time.
            guard unsentBytes(context) == 0 else { return closeSoon() }
            context.close(promise: nil)
        }
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data).countedBytes
        writtenBytes += bytes
        guard !carriesStreams else { return context.write(data, promise: promise) }
        ledger.wrote(bytes)
        if isStream { return write(context, data, bytes, promise) }
        largestWrite = max(largestWrite, bytes)
        context.write(data, promise: promise)
    }

    /// A stream cannot say what it has not sent; each of its writes can.
    private func write(
        _ context: ChannelHandlerContext, _ data: NIOAny, _ bytes: Int,
        _ promise: EventLoopPromise<Void>?
    ) {
        let promise = promise ?? context.eventLoop.makePromise()
        unsentInConnection += bytes
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            unsentInConnection -= bytes
            pace.noteUnsent(unsentInConnection, at: world.uptimeSeconds())
            noteSent(unsentInConnection)
        }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        let unsent = unsentBytes(context)
        pace.wrote(writtenBytes, unsentBytes: unsent, at: world.uptimeSeconds())
        writtenBytes = 0
        noteSent(unsent)
        if pace.isWatching { look() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        noteSent(unsentBytes(context))
        context.fireChannelWritabilityChanged()
    }

    /// A buffer is in memory until its last byte was sent.
    private func noteSent(_ unsent: Int) {
        ledger.unsent(atMost: unsent == 0 ? 0 : unsent + largestWrite)
        if unsent == 0 { largestWrite = 0 }
    }

    private func unsentBytes(_ context: ChannelHandlerContext) -> Int {
        if isStream { return unsentInConnection }
        // A channel that cannot say it, in tests, has sent everything.
        return (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    // MARK: Time

    /// Ends a connection of which something is expected that does not come in time.
    func expect<Outcome: Sendable>(_ outcome: EventLoopFuture<Outcome>, within seconds: Double) {
        let late = outcome.eventLoop.scheduleTask(
            in: .milliseconds(Int64(seconds * 1_000))
        ) { [weak self] in
            // Nobody waits for the end of a connection that is given up.
            self?.context?.close(promise: nil)
        }
        outcome.whenComplete { _ in late.cancel() }
    }

    private func look() {
        guard !isLooking, let context else { return }
        isLooking = true
        context.eventLoop.scheduleTask(
            in: .milliseconds(Int64(pace.secondsPerLook * 1_000))
        ) { [weak self] in
            guard let self, let context = self.context else { return }
            isLooking = false
            endIfLate(context)
        }
    }

    private func endIfLate(_ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let now = world.uptimeSeconds()
        let unsent = unsentBytes(context)
        let delay = pace.delay(unsentBytes: unsent, at: now)
        noteSent(unsent)
        switch delay {
        case .head:
            // Nobody waits for the end of a connection that is given up.
            context.close(promise: nil)
            return
        case .answer: return abort(context)
        case .body where isRefused: break
        case .body: refuse(RequestFailure(.bodyTooSlow, unreadBody: .tooSlow), context)
        case nil:
            if stopWaiting != nil, now >= waitEnds {
                refuse(RequestFailure(.memoryIsShort, unreadBody: .refused), context)
            }
        }
        if pace.isWatching || stopWaiting != nil || isRefused { look() }
    }

    /// Ends the connection with what the client has not read, which the system would keep otherwise.
    private func abort(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        guard let options = context.channel as? any SocketOptionProvider else {
            return context.close(promise: nil)
        }
        // Where the system refuses, the connection ends all the same.
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    /// Tells the request's reader, who answers it; whoever does not answer is cut off.
    private func refuse(_ failure: RequestFailure, _ context: ChannelHandlerContext) {
        stopWaiting?()
        stopWaiting = nil
        isRefused = true
        // By then it is answered, or never will be.
        closeSoon(afterSeconds: answerSeconds)
        context.fireErrorCaught(failure)
    }
}

extension ByteBuffer: CountedBytes {
    var countedBytes: Int { readableBytes }
    var beginsBody: Bool { false }
}

extension IOData: CountedBytes {
    var countedBytes: Int { readableBytes }
    var beginsBody: Bool { false }
}

extension HTTP2Frame.FramePayload: CountedBytes {
    var countedBytes: Int {
        switch self {
        case .data(let content): content.data.readableBytes
        case .headers(let content):
            content.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
        default: 0
        }
    }

    var beginsBody: Bool {
        if case .headers(let content) = self { !content.endStream } else { false }
    }
}
