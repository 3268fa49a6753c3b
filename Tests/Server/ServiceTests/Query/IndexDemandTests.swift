import Foundation
import StratusRecords
import StratusSQLite
import StratusTesting
import StratusWire
import Synchronization
import TestProcesses
import Testing

@testable import StratusService
@testable import StratusStorage

/// In development every field can be queried, and in production after a deployment; fields that are not queried
/// cost nothing.
@Suite struct IndexDemandTests {
    /// The rows that the writing connection has written since it was opened.
    private func writes(_ storage: SQLiteStorageEngine, _ alice: Person) async throws -> Int64 {
        let address = DatabaseAddress(alice.world.address, .private(owner: alice.name))
        return try await storage.withDatabase(of: address) { file in
            try await file.write { database in
                try SQLStatement(database, "SELECT total_changes()").first { $0.integer(0) } ?? 0
            }
        }
    }

    private func record(_ name: String) -> RecordsModify.Operation {
        hut(
            .create, name,
            (0..<10).map { text("text\($0)", "the words of field \($0)") }
                + (0..<5).map { Field(name: "number\($0)", value: .int64(Int64($0))) })
    }

    @Test(arguments: [ContainerEnvironment.development, .production])
    func saveWritesOnlyRequestedIndexes(
        _ environment: ContainerEnvironment
    ) async throws {
        let folder = try RunFolder.newFolder()
        let storage = try SQLiteStorageEngine(folder: folder)
        if environment == .production {
            let developer = try await World(storage).person("alice")
            try await developer.modify([record("first")])
            try await developer.world.service.schemaDeployment(of: World.container).deploy()
        }
        let alice = try await World(storage, environment: environment)
            .person("alice", with: "Trips")
        try await alice.modify([record("a"), record("b")], in: "Trips")
        var before = try await writes(storage, alice)
        try await alice.modify([record("c")], in: "Trips")
        let unasked = try await writes(storage, alice) - before
        #expect(unasked <= 22, "\(unasked)")
        // A search and a sort need one index each: five words and one number.
        let query = QueryDictionary(
            recordType: "Hut",
            filterBy: [.init(.containsAllTokens, .user("text1"), .string("words"))],
            sortBy: [.init(.user("number1"))])
        let found = try await alice.ask(
            RecordsQuery.self, .init(query: query, zoneID: zone("Trips")))
        #expect(found.records.compactMap(\.name) == ["a", "b", "c"])
        before = try await writes(storage, alice)
        try await alice.modify([record("d")], in: "Trips")
        let asked = try await writes(storage, alice) - before
        #expect(asked == unasked + 6, "\(asked) \(unasked)")
        await alice.world.service.waitUntilIdle()
        try await storage.close()
    }

    /// A database has room for one index, and another query takes it between a query's request for its index and its
    /// read. The query requests it once more, and is answered.
    @Test func queryRequestsItsDroppedIndexAgain() async throws {
        let other = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let storage = WatchedStorage(
            .inMemory(),
            beforeRead: { read in
                // Indexes are read by the page; records are searched in the zone.
                guard read.length == .zone else { return }
                let ask = other.withLock { other in
                    defer { other = nil }
                    return other
                }
                try await ask?()
            })
        let world = World(
            storage,
            limits: .with {
                $0.indexesPerDatabase = 1
                // Too small a limit to sort all of them without an index.
                $0.recordsScannedPerQuery = 40
                $0.recordsPerIndexStep = 10
            }, heldBack: ["index building"])
        let alice = try await world.person("alice")
        try await alice.modify(
            (0..<60).map {
                hut(
                    .create, "hut\($0)",
                    [beds(Int64($0)), Field(name: "height", value: .int64(Int64(-$0)))])
            })
        @Sendable func sorted(by field: String) async throws -> [String] {
            let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user(field))])
            return try await alice.ask(
                RecordsQuery.self, .init(query: query, resultsLimit: 3)
            ).records.compactMap(\.name)
        }
        other.withLock { other in
            other = {
                let found = try await sorted(by: "height")
                #expect(found == ["hut59", "hut58", "hut57"])
            }
        }
        #expect(try await sorted(by: "beds") == ["hut0", "hut1", "hut2"])
        #expect(other.withLock { $0 == nil })
    }
}
