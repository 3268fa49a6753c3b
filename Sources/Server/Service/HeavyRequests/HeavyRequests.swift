import StratusRecords
import StratusRuntime
import Synchronization

/// Decides which requests are heavy, and where they run: large ones, and those of a sender that asked for a lot
/// recently or sends several at the same time. They take turns on threads of their own (``HeavyThreads``), so that the
/// light requests of all others find a free thread immediately.
///
/// The requests of a sender are counted in the unit of its rate (``EndpointRules/cost``), whether or not its rate is
/// limited.
final class HeavyRequests: Sendable {
    typealias Sender = Throttle.Sender

    private struct Use {
        var cost: Double
        var countedSeconds: Double
        var inWork = 0
    }

    /// Half of the places, so that light requests find one.
    let queue: RequestQueue
    let threads: HeavyThreads
    private let limits: Limits
    private let world: World
    private let uses = Mutex(LRUCache<Sender, Use>(capacity: 10_000))

    /// - Parameter threadCount: Fewer than the processors; with none, the initialiser returns nil.
    init?(threadCount: Int, limits: Limits, world: World) {
        guard threadCount > 0 else { return nil }
        var halved = limits
        halved.requestsInWork = max(1, limits.requestsInWork / 2)
        queue = RequestQueue(limits: halved)
        threads = HeavyThreads(count: threadCount, world: world)
        self.limits = limits
        self.world = world
    }

    /// Notes a request that has arrived completely.
    ///
    /// - Returns: Where it runs when it is heavy; nil for a light one.
    func begin(_ sender: Sender, receivedBytes: Int) -> HeavyThreads.Line? {
        let isHeavy = change(sender) { use in
            use.inWork += 1
            return use.inWork > limits.lightRequestsAtOnce
                || use.cost > Double(limits.lightRequestsPerSecond)
        }
        guard isHeavy || receivedBytes > limits.lightRequestBytes else { return nil }
        return threads.line(of: sender)
    }

    /// Adds the cost that a request turned out to have.
    func charge(_ sender: Sender, _ cost: Double) {
        change(sender) { $0.cost += cost }
    }

    /// Notes that a request has been answered.
    func end(_ sender: Sender) {
        // The sender may have been forgotten in the meantime, in favour of others.
        change(sender) { $0.inWork = max(0, $0.inWork - 1) }
    }

    /// No sender counts as heavy for longer than this after its last request.
    private static let longestSeconds = 10.0

    private func change<Outcome: Sendable>(
        _ sender: Sender, _ body: (inout Use) -> Outcome
    ) -> Outcome {
        let now = world.uptimeSeconds()
        let perSecond = Double(limits.lightRequestsPerSecond)
        return uses.withLock { uses in
            var use = uses[sender] ?? Use(cost: 0, countedSeconds: now)
            let seconds = max(0, now - use.countedSeconds)
            use.cost = max(0, use.cost - seconds * perSecond)
            use.countedSeconds = now
            let outcome = body(&use)
            use.cost = min(use.cost, perSecond * Self.longestSeconds)
            uses[sender] = use
            return outcome
        }
    }
}
