import StratusRecords
import StratusTesting
import Synchronization
import TestSeeds
import Testing

@testable import StratusService

/// How memory for the bytes of requests and answers is shared out.
@Suite struct MemoryBudgetTests {
    private func isTaken(_ bytes: Int, by memory: HeldMemory) -> Bool {
        // Its only error says that there is no room.
        (try? memory.takeIfFree(bytes)) != nil
    }

    /// Takes a thousand bytes at a time until there is no room.
    private func fill(_ memory: HeldMemory) {
        while isTaken(1_000, by: memory) {}
    }

    @Test func senderHoldsAtMostHalfOfTheFreeMemory() {
        let budget = MemoryBudget(limitBytes: 1_000_000)
        let first = HeldMemory(budget, networkAddress: "10.0.0.1")
        let second = HeldMemory(budget, networkAddress: "10.0.0.2")
        let third = HeldMemory(budget, networkAddress: "10.0.0.3")
        defer { withExtendedLifetime((first, second, third)) {} }
        fill(first)
        #expect(first.bytes == 500_000)
        // Each further address gets some, however many connections the first one opens.
        fill(HeldMemory(budget, networkAddress: "10.0.0.1"))
        fill(second)
        #expect(second.bytes == 250_000)
        fill(third)
        #expect(third.bytes == 125_000)
        #expect(budget.heldBytes == 875_000)
    }

    /// The memory that connections use besides their bytes leaves less for long bodies, down to a third of the budget,
    /// but no less for requests in progress.
    @Test(arguments: [(0, 450_000), (300_000, 300_000), (600_000, 150_000), (9_000_000, 150_000)])
    func connectionsLeaveLessForLongBodies(_ beside: Int, _ body: Int) {
        let budget = MemoryBudget(limitBytes: 900_000)
        let connections = HeldMemory(budget, networkAddress: "10.0.0.1")
        connections.setBeside(beside)
        let reader = HeldMemory(budget, networkAddress: "10.0.0.2")
        while reader.takeOrWait(1_000, for: .body, notify: {}) == nil {}
        #expect(reader.bytes == body)
        let worker = HeldMemory(budget, networkAddress: "10.0.0.3")
        fill(worker)
        #expect(worker.bytes == (900_000 - body) / 2 / 1_000 * 1_000)
        withExtendedLifetime((connections, reader, worker)) {}
    }

    @Test func endOfConnectionsWakesWaitingBody() {
        let budget = MemoryBudget(limitBytes: 900_000)
        let notified = Mutex(0)
        let reader = HeldMemory(budget, networkAddress: "10.0.0.2")
        do {
            let connections = HeldMemory(budget, networkAddress: "10.0.0.1")
            connections.setBeside(600_000)
            reader.take(150_000)
            let stop = reader.takeOrWait(
                1_000, for: .body, notify: { notified.withLock { $0 += 1 } })
            #expect(stop != nil && notified.withLock { $0 } == 0)
            withExtendedLifetime(connections) {}
        }
        #expect(notified.withLock { $0 } == 1)
        #expect(reader.takeOrWait(1_000, for: .body, notify: {}) == nil)
    }

    @Test func userWithManyAddressesHoldsOneShare() {
        let budget = MemoryBudget(limitBytes: 1_000_000)
        let address = ContainerAddress(container: "c", environment: .production)
        var held: [HeldMemory] = []
        for number in 0..<10 {
            let memory = HeldMemory(budget, networkAddress: "10.0.0.\(number)")
            memory.assign(toUser: .user("_mallory", in: address))
            fill(memory)
            held.append(memory)
        }
        #expect(held.reduce(0) { $0 + $1.bytes } == 500_000)
        let honest = HeldMemory(budget, networkAddress: "10.0.0.1")
        honest.assign(toUser: .user("_ida", in: address))
        #expect(isTaken(200_000, by: honest))
        withExtendedLifetime((held, honest)) {}
    }

    /// A single request is served even with the smallest budget.
    @Test func singleRequestFitsIntoTheSmallestBudget() {
        let budget = MemoryBudget(limitBytes: 1_000)
        let memory = HeldMemory(budget, networkAddress: "10.0.0.1")
        #expect(isTaken(8_000_000, by: memory))
        #expect(!isTaken(1, by: memory))
        memory.giveBack(8_000_000)
        #expect(budget.heldBytes == 0)
    }

    @Test func heldBytesAreGivenBackWithTheirHolder() {
        let budget = MemoryBudget(limitBytes: 1_000_000)
        do {
            let memory = HeldMemory(budget, networkAddress: "10.0.0.1")
            memory.take(2_000_000)
            memory.assign(toAddress: "10.0.0.2")
            #expect(budget.heldBytes == 2_000_000 && budget.senders == 1)
            withExtendedLifetime(memory) {}
        }
        #expect(budget.heldBytes == 0 && budget.senders == 0)
    }

    @Test func requestWaitsForMemoryAndIsRefusedAfterTimeout() async throws {
        let budget = MemoryBudget(limitBytes: 1_000_000)
        var settings = ServiceSettings(isForDevelopment: true)
        // Cancelled long before that.
        settings.world.timeout = { _ in try await Task.sleep(for: .seconds(3_600)) }
        let world = settings.world
        let greedy = HeldMemory(budget, networkAddress: "10.0.0.1")
        greedy.take(900_000)
        let patient = HeldMemory(budget, networkAddress: "10.0.0.2")
        async let taken: Void = patient.take(300_000, waitingSeconds: 10, in: world)
        while budget.waiting == 0 { await Task.yield() }
        greedy.giveBack(900_000)
        try await taken
        #expect(patient.bytes == 300_000 && budget.waiting == 0)

        greedy.take(600_000)
        let (timeouts, timeout) = AsyncStream<Void>.makeStream()
        settings.world.timeout = { _ in for await _ in timeouts { return } }
        let hurried = settings.world
        let late = HeldMemory(budget, networkAddress: "10.0.0.3")
        async let refused: Void = late.take(300_000, waitingSeconds: 10, in: hurried)
        while budget.waiting == 0 { await Task.yield() }
        timeout.yield()
        do {
            try await refused
            Issue.record("Memory was granted beyond the budget.")
        } catch let error as ServiceError {
            #expect(error.code == .tryAgainLater && error.retryAfterSeconds != nil)
        }
        #expect(budget.waiting == 0 && budget.refused == 1)
    }

    /// The sums stay correct, whatever is taken, given back and renamed.
    @Test(arguments: Seeds.forTest("MemoryBudgetTests", count: 1))
    func heldBytesEqualTheSumOfAllHolders(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        let budget = MemoryBudget(limitBytes: 100_000)
        let address = ContainerAddress(container: "c", environment: .production)
        var holders: [HeldMemory] = []
        for _ in 0..<20_000 {
            switch random.next() % 6 {
            case 0: holders.append(HeldMemory(budget, networkAddress: "\(random.next() % 4)"))
            case 1: if !holders.isEmpty { holders.remove(at: random.index(holders.count)) }
            case 2: holders.randomOne(&random)?.take(Int(random.next() % 5_000))
            case 3:
                if let one = holders.randomOne(&random) {
                    _ = isTaken(Int(random.next() % 5_000), by: one)
                }
            case 4: holders.randomOne(&random)?.giveBack(Int(random.next() % 5_000))
            default:
                let user = random.next() % 3
                holders.randomOne(&random)?.assign(
                    toUser: user == 0 ? nil : .user("_\(user)", in: address))
                holders.randomOne(&random)?.assign(toAddress: "\(random.next() % 4)")
            }
            #expect(budget.heldBytes == holders.reduce(0) { $0 + $1.bytes })
        }
        holders = []
        #expect(budget.heldBytes == 0 && budget.senders == 0)
    }
}

extension SeededNumbers {
    fileprivate mutating func index(_ count: Int) -> Int { Int(next() % UInt64(count)) }
}

extension Array {
    fileprivate func randomOne(_ random: inout SeededNumbers) -> Element? {
        isEmpty ? nil : self[random.index(count)]
    }
}
