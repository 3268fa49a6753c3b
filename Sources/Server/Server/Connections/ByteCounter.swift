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

/// The unit in which bytes travel: buffers in a connection, the payloads of frames in a stream of HTTP/2.
protocol CountedBytes: SendableMetatype {
    var countedBytes: Int { get }
    /// Whether it is the head of a request that has a body.
    var beginsBody: Bool { get }
}

/// The innermost handler of a connection: a ``ByteCounter`` of buffers.
typealias ConnectionCounter = ByteCounter<ByteBuffer, IOData>
/// The innermost handler of a stream of HTTP/2.
typealias StreamCounter = ByteCounter<HTTP2Frame.FramePayload, HTTP2Frame.FramePayload>

/// Bytes of a request that are read however much memory is held: heads and short bodies are never delayed.
private let bytesAlwaysRead = 16_384
/// The most bytes of one read, and what a stream's client may send before it is read.
private let bytesPerRead = 65_536
/// How long the rest of a refused request is read, so that its answer is not lost when the connection closes.
private let lingerSeconds: Int64 = 2
/// How long a refusal may take to be answered.
private let answerSeconds: Int64 = 10

/// The innermost handler of a connection, or of a stream of HTTP/2: counts its bytes, stops reading while memory is
/// short, and closes it when its client is too slow (``ConnectionPace``).
///
/// `@unchecked`: NIO calls a handler only on its channel's event loop.
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
    /// The handler's context in its pipeline, while it is in one.
    private var context: ChannelHandlerContext?
    /// When the next check is due; nil while none is.
    private var looksAt: Double?
    /// Bytes that were taken for the current read.
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
    /// A stream's bytes that its connection has not sent yet.
    private var unsentInConnection = 0
    private let isStream = Arriving.self == HTTP2Frame.FramePayload.self
    /// Whether the connection's requests are counted by its streams; then only the time is checked here.
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
        if !isRefused { pace.arrived(bytes, at: world.uptimeSeconds()) }
        ledger.arrived(bytes)
        if arriving.beginsBody, !reserve(context) { return }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The bytes that arrived are counted on their own now.
        ledger.memory.giveBack(credit)
        credit = 0
        context.fireChannelReadComplete()
        if pace.isWatching { look() }
    }

    /// Counts the bytes that the client of a stream may send before anything is read, since nothing shows them until
    /// then. Without room for them the stream ends immediately: before an answer could be sent, the client would have
    /// sent them.
    private func reserve(_ context: ChannelHandlerContext) -> Bool {
        do {
            try ledger.memory.takeIfFree(bytesPerRead)
            reservedBytes = bytesPerRead
            return true
        } catch {
            // No memory: the stream is refused before it begins, so that the client may try again.
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
            // An answer that is still being sent has its own time limit.
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

    /// A stream does not report how much it has not sent; the promise of each write does.
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

    /// A buffer stays in memory until its last byte is sent.
    private func noteSent(_ unsent: Int) {
        ledger.unsent(atMost: unsent == 0 ? 0 : unsent + largestWrite)
        if unsent == 0 { largestWrite = 0 }
    }

    private func unsentBytes(_ context: ChannelHandlerContext) -> Int {
        if isStream { return unsentInConnection }
        // It fails only when the channel is closed: then nothing more is sent.
        return (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    // MARK: Time

    /// Closes a connection if an expected event does not come in time.
    func expect<Outcome: Sendable>(_ outcome: EventLoopFuture<Outcome>, within seconds: Double) {
        let late = outcome.eventLoop.scheduleTask(
            in: .milliseconds(Int64(seconds * 1_000))
        ) { [weak self] in
            // Nothing waits for the end of a connection that is closed for slowness.
            self?.context?.close(promise: nil)
        }
        outcome.whenComplete { _ in late.cancel() }
    }

    /// Schedules a check for the time at which something can be late, unless one is due earlier.
    private func look() {
        let now = world.uptimeSeconds()
        let memory = stopWaiting == nil ? nil : max(0.02, waitEnds - now)
        guard let context,
            let seconds = [pace.secondsUntilLook(at: now), memory].compactMap({ $0 }).min()
        else { return }
        let due = now + seconds
        if let looksAt, looksAt <= due { return }
        looksAt = due
        context.eventLoop.scheduleTask(
            in: .milliseconds(Int64((seconds * 1_000).rounded(.up)))
        ) { [weak self] in
            // An earlier check replaced this one.
            guard let self, let context = self.context, looksAt == due else { return }
            looksAt = nil
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
            // Nothing waits for the end of a connection that is closed for slowness.
            context.close(promise: nil)
            return
        case .answer: return abort(context)
        case .body: refuse(RequestFailure(.bodyTooSlow, unreadBody: .tooSlow), context)
        case nil:
            if stopWaiting != nil, now >= waitEnds {
                refuse(RequestFailure(.memoryIsShort, unreadBody: .refused), context)
            }
        }
        look()
    }

    /// Closes the connection and drops what the client has not read, which the system would keep otherwise.
    private func abort(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        guard let options = context.channel as? any SocketOptionProvider else {
            return context.close(promise: nil)
        }
        // If the system refuses the option, the connection is closed anyway.
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    /// Passes the failure to the reader of the request, which answers it. If no answer is sent, the connection is
    /// closed.
    private func refuse(_ failure: RequestFailure, _ context: ChannelHandlerContext) {
        stopWaiting?()
        stopWaiting = nil
        isRefused = true
        pace.bodyEnded()
        // By then the answer is sent, or never will be.
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
