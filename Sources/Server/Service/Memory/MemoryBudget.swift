import DequeModule
import StratusRecords
import StratusRuntime
import Synchronization

/// The bytes that requests and answers may hold in this process, all together.
///
/// A sender may hold as much as is still free after it: alone half of the budget, and with `n` others an equal share of
/// it, while something stays free for the next sender. (Switches share their buffers by this dynamic threshold.) A
/// sender that holds nothing and is alone is never refused, regardless of the size. A page of an answer that no share has
/// room for (the records of one batch are in one page) is admitted too, one at a time: otherwise it would never be.
///
/// The memory that connections and requests take beside their bytes leaves less for long bodies: at least a third of
/// the budget, and as much as before for everything else, so that opening connections causes no refusals.
///
/// Invariants: `heldBytes` is the sum of what each ``HeldMemory`` holds; a share exists while its sender holds bytes or
/// waits for some.
package final class MemoryBudget: Sendable {
    /// The bytes that one sender holds.
    ///
    /// `@unchecked`: read and written only within `MemoryBudget.state.withLock`.
    final class Share: @unchecked Sendable {
        let sender: Throttle.Sender
        fileprivate var bytes = 0
        fileprivate var users = 0

        fileprivate init(_ sender: Throttle.Sender) { self.sender = sender }
    }

    private struct Waiter {
        var ticket: UInt64
        var bytes: Int
        var shares: [Share]
        var use: Use
        /// Signals that there may be room now.
        var notify: @Sendable () -> Void
    }

    /// The purpose for which bytes are taken.
    package enum Use: Sendable {
        /// Work on a request that is there, and its answer.
        case work
        /// More of a long body, which its sender may keep for a while.
        case body
    }

    private struct State {
        var heldBytes = 0
        var besideBytes = 0
        var peakBytes = 0
        var refused = 0
        var shares: [Throttle.Sender: Share] = [:]
        var waiters: Deque<Waiter> = []
        var lastTicket: UInt64 = 0
        /// Whether a holder has a page beyond its sender's share.
        var hasPageBeyondShare = false
    }

    /// The fraction of the budget that connections and requests may take away from long bodies.
    private static let mostBeside = (numerator: 2, denominator: 3)

    /// A page of more than this part of the budget may never fit into its sender's share, which is at most half of it,
    /// with what the request holds already.
    private static let sharesPerBudget = 3

    /// The waiters that are to be notified of room.
    typealias Signals = [@Sendable () -> Void]

    /// Waiters that are examined when room becomes free: enough to take turns, too few to cost much time.
    private static let waitersPerRelease = 16

    package let limitBytes: Int
    private let state = Mutex(State())

    package init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    /// Bytes that are held now.
    package var heldBytes: Int { state.withLock { $0.heldBytes } }

    /// The memory that connections and requests take beside their bytes now.
    package var besideBytes: Int { state.withLock { $0.besideBytes } }

    /// The most that was ever held.
    package var peakBytes: Int { state.withLock { $0.peakBytes } }

    /// Requests that wait for room now.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Senders that are remembered now.
    package var senders: Int { state.withLock { $0.shares.count } }

    /// How often there was no room in time.
    package var refused: Int { state.withLock { $0.refused } }

    // MARK: Shares

    func share(of sender: Throttle.Sender) -> Share {
        state.withLock { state in
            let share = state.shares[sender] ?? Share(sender)
            share.users += 1
            state.shares[sender] = share
            return share
        }
    }

    /// Moves what is held from one sender's share to another's.
    func move(_ bytes: Int, from old: Share?, to new: Share?) {
        state.withLock { state in
            new?.bytes += bytes
            guard let old else { return }
            old.bytes -= bytes
            leave(old, &state)
        }
    }

    private func leave(_ share: Share, _ state: inout State) {
        share.users -= 1
        if share.users == 0 { state.shares[share.sender] = nil }
    }

    func leave(_ shares: [Share], giveBack bytes: Int) -> Signals {
        state.withLock { state in
            let signals = release(bytes, of: shares, &state)
            for share in shares { leave(share, &state) }
            return signals
        }
    }

    // MARK: Bytes

    /// Counts bytes that are in memory already, whether or not there is room.
    func take(_ bytes: Int, for shares: [Share]) {
        state.withLock { hold(bytes, for: shares, &$0) }
    }

    /// Takes bytes if there is room for them.
    func takeIfFree(_ bytes: Int, for shares: [Share]) -> Bool {
        state.withLock { state in
            guard hasRoom(for: bytes, .work, of: shares, state) else { return false }
            hold(bytes, for: shares, &state)
            return true
        }
    }

    /// Takes the bytes of a page that is too large for any sender's share, unless another holder has such a page.
    func takeBeyondShare(_ bytes: Int, for shares: [Share]) -> Bool {
        state.withLock { state in
            guard bytes > limitBytes / Self.sharesPerBudget, !state.hasPageBeyondShare else {
                return false
            }
            state.hasPageBeyondShare = true
            hold(bytes, for: shares, &state)
            return true
        }
    }

    /// Lets another holder have a page beyond its sender's share.
    func endPageBeyondShare() {
        state.withLock { $0.hasPageBeyondShare = false }
    }

    /// Takes bytes if there is room, else adds the caller to those that wait for room.
    ///
    /// - Returns: Nil when the bytes were taken, else the number by which to stop waiting.
    func takeOrWait(
        _ bytes: Int, for use: Use, of shares: [Share], notify: @escaping @Sendable () -> Void
    ) -> UInt64? {
        state.withLock { state in
            if hasRoom(for: bytes, use, of: shares, state) {
                hold(bytes, for: shares, &state)
                return nil
            }
            state.lastTicket += 1
            state.waiters.append(
                Waiter(
                    ticket: state.lastTicket, bytes: bytes, shares: shares, use: use, notify: notify
                ))
            return state.lastTicket
        }
    }

    func stopWaiting(_ ticket: UInt64) {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.ticket == ticket }) else {
                return
            }
            state.waiters.remove(at: index)
        }
    }

    /// - Returns: The waiters to notify of the room, once no lock is held.
    func giveBack(_ bytes: Int, of shares: [Share]) -> Signals {
        guard bytes > 0 else { return [] }
        return state.withLock { release(bytes, of: shares, &$0) }
    }

    /// Counts the memory that connections and requests take beside their bytes.
    ///
    /// - Returns: The waiters that are to be notified of room, once no lock is held.
    func changeBeside(by bytes: Int) -> Signals {
        state.withLock { state in
            state.besideBytes += bytes
            return bytes < 0 ? release(0, of: [], &state) : []
        }
    }

    /// Counts a refusal.
    func noteRefusal() {
        state.withLock { $0.refused += 1 }
    }

    // MARK: Decisions

    private func hasRoom(
        for bytes: Int, _ use: Use, of shares: [Share], _ state: State
    ) -> Bool {
        var free = limitBytes - state.heldBytes - bytes
        if use == .body {
            let most = limitBytes / Self.mostBeside.denominator * Self.mostBeside.numerator
            free -= min(state.besideBytes, most)
        }
        return shares.allSatisfy { share in
            // A sender that is alone always has room: otherwise a limit that is set too low would stop the service.
            share.bytes + bytes <= free || state.heldBytes == share.bytes && share.bytes == 0
        }
    }

    private func hold(_ bytes: Int, for shares: [Share], _ state: inout State) {
        state.heldBytes += bytes
        state.peakBytes = max(state.peakBytes, state.heldBytes)
        for share in shares { share.bytes += bytes }
    }

    /// - Returns: The waiters for which there is room now; they ask again.
    private func release(_ bytes: Int, of shares: [Share], _ state: inout State) -> Signals {
        state.heldBytes -= bytes
        for share in shares { share.bytes -= bytes }
        var signals: Signals = []
        for _ in 0..<min(Self.waitersPerRelease, state.waiters.count) {
            guard let waiter = state.waiters.popFirst() else { break }
            if hasRoom(for: waiter.bytes, waiter.use, of: waiter.shares, state) {
                signals.append(waiter.notify)
            } else {
                // Others may need less, or have a share of their own.
                state.waiters.append(waiter)
            }
        }
        return signals
    }
}
