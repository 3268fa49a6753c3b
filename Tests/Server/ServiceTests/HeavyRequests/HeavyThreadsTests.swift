import StratusRecords
import Synchronization
import Testing

@testable import StratusService

/// Heavy requests run on few threads, and share them equally.
@Suite struct HeavyThreadsTests {
    private static let greedy = Throttle.Sender.address("greedy")
    private static let calm = Throttle.Sender.address("calm")

    /// A clock that each step advances by an amount that the test sets.
    private final class Clock: Sendable {
        private let seconds = Mutex(0.0)
        var now: Double { seconds.withLock { $0 } }
        func advance(_ by: Double) { seconds.withLock { $0 += by } }
    }

    private final class Notes: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }
        func add(_ note: String) { list.withLock { $0.append(note) } }
    }

    /// A line runs synchronous and asynchronous work, and the functions that the work calls.
    @Test func workOfALineRunsOnTheHeavyThreads() async {
        let threads = HeavyThreads(count: 1, world: .live)
        let line = threads.line(of: Self.greedy)
        let sum = await HeavyThreads.Line.run(on: line) { (0..<1_000).reduce(0, +) }
        #expect(sum == 499_500 && threads.stepsRun >= 1)
        let before = threads.stepsRun
        await HeavyThreads.Line.run(on: line) {
            for _ in 0..<10 { await Task.yield() }
        }
        #expect(threads.stepsRun >= before + 10)
        let after = threads.stepsRun
        await HeavyThreads.Line.run(on: nil) { await Task.yield() }
        #expect(threads.stepsRun == after && threads.senders == 0)
    }

    /// One thread, two senders: the one whose steps take ten times as long runs a tenth as many, although eight of
    /// its tasks wait and only one of the other's.
    @Test func sendersGetEqualThreadTime() async {
        let clock = Clock()
        let threads = HeavyThreads(
            count: 1, world: .init(uptimeSeconds: { clock.now }))
        let notes = Notes()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    await HeavyThreads.Line.run(on: threads.line(of: Self.greedy)) {
                        while !Task.isCancelled {
                            clock.advance(0.1)
                            notes.add("g")
                            await Task.yield()
                        }
                    }
                }
            }
            await HeavyThreads.Line.run(on: threads.line(of: Self.calm)) {
                for _ in 0..<50 {
                    clock.advance(0.01)
                    notes.add("c")
                    await Task.yield()
                }
            }
            group.cancelAll()
        }
        let calm = notes.all.drop { $0 != "c" }
        let calmEnd = calm.lastIndex(of: "c") ?? 0
        let greedySteps = calm[...calmEnd].count { $0 == "g" }
        #expect(greedySteps <= 14, "\(calm.prefix(200).joined())")
        #expect(calm.count { $0 == "c" } == 50 && threads.senders == 0)
    }

    // MARK: Which senders are heavy

    private func requests(_ clock: Clock) throws -> HeavyRequests {
        var limits = Limits()
        limits.lightRequestsPerSecond = 10
        limits.lightRequestBytes = 1_000
        limits.lightRequestsAtOnce = 2
        return try #require(
            HeavyRequests(
                threadCount: 1, limits: limits, world: .init(uptimeSeconds: { clock.now })))
    }

    @Test func senderWithHighLoadIsHeavyForSeconds() throws {
        let clock = Clock()
        let heavy = try requests(clock)
        #expect(heavy.begin(Self.greedy, receivedBytes: 10) == nil)
        heavy.charge(Self.greedy, 64)
        heavy.end(Self.greedy)
        #expect(heavy.begin(Self.greedy, receivedBytes: 10) != nil)
        heavy.end(Self.greedy)
        #expect(heavy.begin(Self.calm, receivedBytes: 10) == nil)
        clock.advance(6)
        #expect(heavy.begin(Self.greedy, receivedBytes: 10) == nil)
    }

    @Test func largeAndSimultaneousRequestsAreHeavy() throws {
        let heavy = try requests(Clock())
        #expect(heavy.begin(Self.calm, receivedBytes: 1_001) != nil)
        #expect(heavy.begin(Self.calm, receivedBytes: 1_000) == nil)
        #expect(heavy.begin(Self.calm, receivedBytes: 10) != nil)
        heavy.end(Self.calm)
        heavy.end(Self.calm)
        #expect(heavy.begin(Self.calm, receivedBytes: 10) == nil)
    }

    @Test func serviceWithoutHeavyThreadsHasNoHeavyRequests() {
        #expect(HeavyRequests(threadCount: 0, limits: Limits(), world: .live) == nil)
    }
}
