import StratusRecords
import StratusRuntime
import Synchronization

/// The bytes of the ``MemoryBudget`` that one connection or one request holds, counted for its sender: the network
/// address, and the user once that is known. They are given back at the latest when nothing refers to this object any
/// more.
package final class HeldMemory: Sendable {
    private struct State {
        var bytes = 0
        /// The memory that it takes beside those bytes.
        var beside = 0
        /// Whether it has the page beyond its sender's share (``takePage(_:)``).
        var isBeyondShare = false
        var address: MemoryBudget.Share
        var user: MemoryBudget.Share?

        var shares: [MemoryBudget.Share] { user.map { [address, $0] } ?? [address] }
    }

    private let budget: MemoryBudget
    private let state: Mutex<State>

    package init(_ budget: MemoryBudget, networkAddress: String) {
        self.budget = budget
        state = Mutex(State(address: budget.share(of: .address(networkAddress))))
    }

    deinit {
        let signals = state.withLock {
            if $0.isBeyondShare { budget.endPageBeyondShare() }
            let signals = $0.beside == 0 ? [] : budget.changeBeside(by: -$0.beside)
            return signals + budget.leave($0.shares, giveBack: $0.bytes)
        }
        for signal in signals { signal() }
    }

    /// Bytes that are held now.
    package var bytes: Int { state.withLock { $0.bytes } }

    /// A new holder for the same senders.
    package func sibling() -> HeldMemory {
        let (address, user) = state.withLock { ($0.address.sender, $0.user?.sender) }
        let sibling = HeldMemory(budget, sender: address)
        if let user { sibling.assign(toUser: user) }
        return sibling
    }

    private init(_ budget: MemoryBudget, sender: Throttle.Sender) {
        self.budget = budget
        state = Mutex(State(address: budget.share(of: sender)))
    }

    /// Counts the held bytes for another network address: a proxy has named the real sender.
    package func assign(toAddress networkAddress: String) {
        state.withLock { state in
            let sender = Throttle.Sender.address(networkAddress)
            guard state.address.sender != sender else { return }
            let share = budget.share(of: sender)
            budget.move(state.bytes, from: state.address, to: share)
            state.address = share
        }
    }

    /// Counts the held bytes for a user too; nil ends that.
    package func assign(toUser sender: Throttle.Sender?) {
        state.withLock { state in
            guard state.user?.sender != sender else { return }
            let share = sender.map { budget.share(of: $0) }
            budget.move(state.bytes, from: state.user, to: share)
            state.user = share
        }
    }

    /// Counts bytes that are in memory already, whether or not there is room.
    package func take(_ bytes: Int) {
        guard bytes > 0 else { return }
        state.withLock { state in
            budget.take(bytes, for: state.shares)
            state.bytes += bytes
        }
    }

    /// Takes bytes if there is room for them.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER.
    package func takeIfFree(_ bytes: Int) throws(ServiceError) {
        guard bytes > 0 else { return }
        guard takeNow(bytes) else { throw refusal() }
    }

    /// Takes the bytes of a page of an answer if there is room for them. A page that is too large for any sender's share
    /// is admitted too, while no other holder has such a page.
    ///
    /// - Returns: False when there is no room, and the answer has a page beyond its sender's share already.
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is no room otherwise.
    package func takePage(_ bytes: Int) throws(ServiceError) -> Bool {
        if bytes <= 0 || takeNow(bytes) { return true }
        let (isTaken, hasOther) = state.withLock { state in
            if state.isBeyondShare { return (false, true) }
            guard budget.takeBeyondShare(bytes, for: state.shares) else { return (false, false) }
            state.isBeyondShare = true
            state.bytes += bytes
            return (true, false)
        }
        if isTaken { return true }
        let refusal = refusal()
        guard hasOther else { throw refusal }
        return false
    }

    /// Takes bytes if there is room, else starts to wait for room.
    ///
    /// - Parameters:
    ///   - use: What the bytes are for.
    ///   - notify: Called once when it is worth trying again.
    /// - Returns: Nil when the bytes were taken, else a closure that ends the waiting.
    package func takeOrWait(
        _ bytes: Int, for use: MemoryBudget.Use, notify: @escaping @Sendable () -> Void
    ) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let ticket = budget.takeOrWait(bytes, for: use, of: state.shares, notify: notify)
            guard let ticket else {
                state.bytes += bytes
                return nil
            }
            let budget = budget
            return { budget.stopWaiting(ticket) }
        }
    }

    /// Takes bytes as soon as there is room.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is none in time; `CancellationError`.
    package func take(_ bytes: Int, waitingSeconds: Double, in world: World) async throws {
        guard bytes > 0, takeNow(bytes) == false else { return }
        try await world.withTimeout(
            seconds: waitingSeconds, throwing: self.refusal()
        ) { [self] in
            while true {
                let (signals, signal) = AsyncStream<Void>.makeStream()
                guard let stop = takeOrWait(bytes, for: .work, notify: { signal.finish() })
                else { return }
                defer { stop() }
                for await _ in signals {}
                try Task.checkCancellation()
            }
        }
    }

    /// Sets how many bytes are in memory beside those that are held: they leave less for long bodies.
    package func setBeside(_ bytes: Int) {
        let signals = state.withLock { state in
            defer { state.beside = bytes }
            return bytes == state.beside ? [] : budget.changeBeside(by: bytes - state.beside)
        }
        for signal in signals { signal() }
    }

    private func takeNow(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard budget.takeIfFree(bytes, for: state.shares) else { return false }
            state.bytes += bytes
            return true
        }
    }

    private func refusal() -> ServiceError {
        budget.noteRefusal()
        return .memoryIsShort
    }

    /// Gives bytes back; never more than are held.
    package func giveBack(_ bytes: Int) {
        let signals = state.withLock { state in
            let bytes = min(bytes, state.bytes)
            state.bytes -= bytes
            return budget.giveBack(bytes, of: state.shares)
        }
        for signal in signals { signal() }
    }
}

extension HeldMemory? {
    /// A request in this process, whose caller holds the memory: none is counted.
    package static var inProcess: HeldMemory? { nil }
}

extension ServiceError {
    /// Too many bytes of requests and answers are in the service's memory.
    package static let memoryIsShort = ServiceError(
        .tryAgainLater, "The service has no memory to spare for this request; send it again later.",
        retryAfterSeconds: 2, frameworkCode: .zoneBusy)
}
