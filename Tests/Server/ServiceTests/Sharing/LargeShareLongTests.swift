import Foundation
import StratusRecords
import StratusStorage
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// The long form: 50,000 records on disk with the default limits, while another person reads and saves.
/// Prints what it measured; `STRATUS_LONG=1` runs it.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["STRATUS_LONG"] != nil))
struct LargeShareLongTests {
    private static let count = 50_000

    private struct Slowest: Sendable {
        var read = Duration.zero
        var save = Duration.zero
        var same = Duration.zero
        var rounds = 0
    }

    private final class End: Sendable {
        let isReached = Mutex(false)
    }

    @Test func fiftyThousandRecordsAreSharedUnsharedAndDeletedWhileOthersAreServed() async throws {
        let storage = try Backend.sqlite.storage()
        let world = World(storage, isThrottled: false)
        let ida = try await world.person("ida@example.org")
        let paul = try await world.person("paul@example.org")
        for person in [ida, paul] { try await person.makeZone("Trips") }
        try await paul.modify([hut(.create, "own", [beds(1)])], in: "Trips")
        try await plant(ida)
        try await measure("shared", ida, paul, world) {
            try await ida.modify(
                [share(.create, "S", of: "r0", participants: [invited(paul)])], in: "Trips")
        }
        try await measure("unshared", ida, paul, world) {
            try await ida.modify([hut(.forceDelete, "S")], in: "Trips")
        }
        try await measure("deleted", ida, paul, world) {
            try await ida.modify([hut(.forceDelete, "r0")], in: "Trips")
        }
        #expect(
            try await ida.lookup(["r1", "r49999"], in: "Trips").map(\.code) == [
                .notFound, .notFound,
            ])
        try await plant(ida)
        try await measure("zone deleted", ida, paul, world) { try await ida.deleteZone("Trips") }
        try await ida.makeZone("Trips")
        #expect(
            try await Doctor(storage: #require(storage as? SQLiteStorageEngine)).examine().findings
                == [])
        try await storage.close()
    }

    /// Creates a tree with ten children per record, which is deleted with its root.
    private func plant(_ ida: Person) async throws {
        try await ida.modify([hut(.create, "r0", [beds(1)])], in: "Trips")
        for start in stride(from: 1, to: Self.count, by: 200) {
            try await ida.modify(
                (start..<min(start + 200, Self.count)).map { number in
                    let parent = "r\((number - 1) / 10)"
                    let owner = Reference(recordName: parent, action: .deleteSelf)
                    return hut(
                        .create, "r\(number)",
                        [beds(Int64(number)), Field(name: "owner", value: .reference(owner))],
                        parent: .some(parent))
                }, in: "Trips")
        }
    }

    private func measure(
        _ what: String, _ ida: Person, _ paul: Person, _ world: World,
        _ change: () async throws -> Void
    ) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let end = End()
        let others = Task { () async throws -> Slowest in
            var slowest = Slowest()
            while !end.isReached.withLock({ $0 }) {
                var start = clock.now
                _ = try await paul.lookup(["own"], in: "Trips")
                slowest.read = max(slowest.read, clock.now - start)
                start = clock.now
                try await paul.modify([hut(.forceUpdate, "own", [beds(2)])], in: "Trips")
                slowest.save = max(slowest.save, clock.now - start)
                start = clock.now
                // The owner's own saves, in the same database.
                try await ida.modify([hut(.forceUpdate, "mine", [beds(2)])])
                slowest.same = max(slowest.same, clock.now - start)
                slowest.rounds += 1
            }
            return slowest
        }
        try await change()
        let answered = clock.now - start
        await world.service.waitUntilIdle()
        let done = clock.now - start
        end.isReached.withLock { $0 = true }
        let slowest = try await others.value
        print(
            "\(Self.count) records \(what): answered after \(answered), done after \(done); "
                + "slowest of \(slowest.rounds): another's read \(slowest.read), save "
                + "\(slowest.save), the owner's own save \(slowest.same)")
    }
}
