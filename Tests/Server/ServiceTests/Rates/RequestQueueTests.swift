import StratusRecords
import Synchronization
import Testing

@testable import StratusService

/// The fairness of the queue: which request is admitted when, without a clock.
@Suite struct RequestQueueTests {
    private static let greedy = Throttle.Sender.address("greedy")
    private static let calm = Throttle.Sender.address("calm")

    private func queue(
        perUser: Int = 2, inAll: Int = 3, waitingPerUser: Int = 100, waitingInAll: Int = 150
    ) -> RequestQueue {
        var limits = Limits()
        limits.requestsInWorkPerUser = perUser
        limits.requestsInWork = inAll
        limits.waitingRequestsPerUser = waitingPerUser
        limits.waitingRequests = waitingInAll
        return RequestQueue(limits: limits)
    }

    /// A piece of work that lasts until the test ends it.
    private final class Work: Sendable {
        private struct State {
            var begun: [String] = []
            var ends: [String: CheckedContinuation<Void, Never>] = [:]
            var endedEarly: Set<String> = []
            var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        }

        private let state = Mutex(State())

        var begun: [String] { state.withLock { $0.begun } }

        func run(_ name: String) async {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state in
                    state.begun.append(name)
                    if state.endedEarly.remove(name) == nil {
                        state.ends[name] = continuation
                    } else {
                        continuation.resume()
                    }
                    let ready = state.watchers.filter { $0.count <= state.begun.count }
                    state.watchers.removeAll { $0.count <= state.begun.count }
                    return ready
                }
                for watcher in ready { watcher.continuation.resume() }
            }
        }

        /// Ends a piece of work; at once if it begins later.
        func end(_ name: String) {
            state.withLock { state in
                if let continuation = state.ends.removeValue(forKey: name) {
                    continuation.resume()
                } else {
                    state.endedEarly.insert(name)
                }
            }
        }

        func waitUntilBegun(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.begun.count < count else { return true }
                    state.watchers.append((count, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Starts work and waits until it is running or queued.
    private func start(
        _ name: String, as sender: Throttle.Sender, in queue: RequestQueue, _ work: Work,
        waits: Bool
    ) async -> Task<Void, any Error> {
        let before = (waiting: queue.waiting, begun: work.begun.count)
        let task = Task { try await queue.run(as: sender) { await work.run(name) } }
        if waits {
            while queue.waiting == before.waiting { await Task.yield() }
        } else {
            await work.waitUntilBegun(before.begun + 1)
        }
        return task
    }

    @Test func greedySenderDoesNotDelayOthers() async throws {
        let queue = queue()
        let work = Work()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<20 {
            tasks.append(
                await start(
                    "g\(number)", as: Self.greedy, in: queue, work, waits: number >= 2))
        }
        // The calm sender's request is admitted at once, since the third place is free.
        tasks.append(await start("calm", as: Self.calm, in: queue, work, waits: false))
        #expect(work.begun == ["g0", "g1", "calm"])
        #expect(queue.waiting == 18)
        work.end("calm")
        for number in 0..<20 { work.end("g\(number)") }
        for task in tasks { try await task.value }
        #expect(queue.senders == 0 && queue.waiting == 0)
    }

    @Test func sendersTakeTurns() async throws {
        let queue = queue(perUser: 10, inAll: 1)
        let work = Work()
        var tasks = [await start("g0", as: Self.greedy, in: queue, work, waits: false)]
        for number in 1..<4 {
            tasks.append(
                await start("g\(number)", as: Self.greedy, in: queue, work, waits: true))
        }
        for number in 0..<2 {
            tasks.append(
                await start("c\(number)", as: Self.calm, in: queue, work, waits: true))
        }
        let order = ["g0", "g1", "c0", "g2", "c1", "g3"]
        for (index, name) in order.enumerated() {
            await work.waitUntilBegun(index + 1)
            work.end(name)
        }
        for task in tasks { try await task.value }
        #expect(work.begun == order)
    }

    @Test func tooManyWaitingRequestsAreRefused() async throws {
        let queue = queue(perUser: 1, inAll: 1, waitingPerUser: 2, waitingInAll: 3)
        let work = Work()
        var tasks = [await start("g0", as: Self.greedy, in: queue, work, waits: false)]
        for number in 1..<3 {
            tasks.append(
                await start("g\(number)", as: Self.greedy, in: queue, work, waits: true))
        }
        let refusal = await #expect(throws: ServiceError.self) {
            try await queue.run(as: Self.greedy) {}
        }
        #expect(refusal?.code == .tryAgainLater && refusal?.retryAfterSeconds != nil)
        #expect(refusal?.frameworkCode == .zoneBusy)
        tasks.append(await start("c0", as: Self.calm, in: queue, work, waits: true))
        await #expect(throws: ServiceError.self) {
            try await queue.run(as: .address("third")) {}
        }
        for name in ["g0", "g1", "c0", "g2"] { work.end(name) }
        for task in tasks { try await task.value }
        #expect(queue.senders == 0)
    }

    @Test func cancelledRequestLeavesTheQueue() async throws {
        let queue = queue(perUser: 1, inAll: 1)
        let work = Work()
        let first = await start("g0", as: Self.greedy, in: queue, work, waits: false)
        let cancelled = await start("g1", as: Self.greedy, in: queue, work, waits: true)
        let last = await start("c0", as: Self.calm, in: queue, work, waits: true)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(queue.waiting == 1)
        work.end("g0")
        await work.waitUntilBegun(2)
        work.end("c0")
        try await first.value
        try await last.value
        #expect(work.begun == ["g0", "c0"])
        #expect(queue.senders == 0 && queue.waiting == 0)
    }

    @Test func failedRequestFreesItsPlace() async throws {
        let queue = queue(perUser: 1, inAll: 1)
        await #expect(throws: CancellationError.self) {
            try await queue.run(as: Self.greedy) { throw CancellationError() }
        }
        try await queue.run(as: Self.greedy) {}
        #expect(queue.senders == 0)
    }

    /// The maximum number that ran at once.
    private final class Crowd: Sendable {
        private struct State {
            var now: [Throttle.Sender: Int] = [:]
            var most = 0
            var mostOfOne = 0
        }

        private let state = Mutex(State())

        var most: Int { state.withLock { $0.most } }
        var mostOfOne: Int { state.withLock { $0.mostOfOne } }

        func enter(_ sender: Throttle.Sender) {
            state.withLock {
                $0.now[sender, default: 0] += 1
                $0.most = max($0.most, $0.now.values.reduce(0, +))
                $0.mostOfOne = max($0.mostOfOne, $0.now[sender] ?? 0)
            }
        }

        func leave(_ sender: Throttle.Sender) {
            state.withLock { $0.now[sender, default: 0] -= 1 }
        }
    }

    /// In any order of arrivals, ends and cancellations, no place is lost and none is given twice.
    @Test func queueLosesNoPlaceUnderLoad() async throws {
        let queue = queue(perUser: 3, inAll: 5, waitingPerUser: 1_000, waitingInAll: 4_000)
        let crowd = Crowd()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                let sender = Throttle.Sender.address("s\(number % 7)")
                group.addTask {
                    let task = Task {
                        try await queue.run(as: sender) {
                            crowd.enter(sender)
                            await Task.yield()
                            crowd.leave(sender)
                        }
                    }
                    if number % 5 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(crowd.most <= 5)
        #expect(crowd.mostOfOne <= 3)
        #expect(queue.senders == 0 && queue.waiting == 0)
        // All five places are there still.
        let work = Work()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<5 {
            tasks.append(
                await start(
                    "\(number)", as: .address("x\(number)"), in: queue, work, waits: false))
        }
        for number in 0..<5 { work.end("\(number)") }
        for task in tasks { try await task.value }
    }
}
