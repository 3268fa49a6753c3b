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

    /// A search of all fields asks for an index of each. If these are too many, the sort's is not left out.
    @Test func sortOfASearchInMoreFieldsThanIndexesIsAnswered() async throws {
        let alice = try await World(
            limits: .with {
                $0.indexesPerDatabase = 2
                // Too small a limit to sort all of them without an index.
                $0.recordsScannedPerQuery = 40
            }
        ).person("alice", with: "Trips")
        try await alice.modify(
            (0..<60).map { number in
                hut(
                    .create, "hut\(number)",
                    (0..<3).map { text("text\($0)", "old") }
                        + [Field(name: "weight", value: .int64(Int64(-number)))])
            }, in: "Trips")
        let query = QueryDictionary(
            recordType: "Hut",
            filterBy: [.init(.containsAllTokens, .anySearchable, .string("old"))],
            sortBy: [.init(.user("weight"))])
        let page = try await alice.queryPage(query, limit: 3, after: nil)
        #expect(page.records.compactMap(\.name) == ["hut59", "hut58", "hut57"])
        await alice.world.service.waitUntilIdle()
    }

    /// A participant's queries use the owner's indexes, and create one only where there is room.
    @Test func participantsQueryReplacesNoIndexOfTheOwner() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let alice = try await World.alice(storage) {
            $0.indexesPerDatabase = 1
            // Too small a limit to sort all of them without an index.
            $0.recordsScannedPerQuery = 40
        }
        let world = alice.world
        try await alice.makeZone("Trips")
        let bob = try await world.person("bob")
        try await alice.shareTrail(with: bob)
        try await alice.modify(
            (0..<60).map {
                hut(
                    .create, "hut\($0)",
                    [beds(Int64($0)), Field(name: "height", value: .int64(Int64(-$0)))],
                    parent: .some("root"))
            }, in: "Trips")
        func request(_ field: String, _ zoneID: ZoneIDDictionary) -> RecordsQuery.Request {
            let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user(field))])
            return .init(query: query, zoneID: zoneID, resultsLimit: 3)
        }
        let own = try await alice.ask(RecordsQuery.self, request("beds", zone("Trips")))
        #expect(own.records.compactMap(\.name) == ["hut0", "hut1", "hut2"])
        let shared = zone("Trips", of: alice)
        let found = try await bob.ask(RecordsQuery.self, request("beds", shared), in: .shared)
        #expect(found.records.compactMap(\.name) == ["hut0", "hut1", "hut2"])
        let refused = await bob.refusal(
            RecordsQuery.self, request("height", shared), in: .shared)
        #expect(refused?.error.frameworkCode == .limitExceeded)
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let fields = try await store.read { reader in
            try reader.indexes(ofType: "Hut").filter {
                $0.phase != .dropping && $0.definition.kind != .name
            }.map(\.definition.field)
        }
        #expect(fields == ["beds"])
        // The owner's own query replaces it.
        let other = try await alice.ask(RecordsQuery.self, request("height", zone("Trips")))
        #expect(other.records.compactMap(\.name) == ["hut59", "hut58", "hut57"])
    }

    /// Otherwise each of their queries would read all indexes again.
    @Test func participantsQueryWithoutRoomLooksAtTheIndexesOnce() async throws {
        let looks = Mutex(0)
        let storage = WatchedStorage(
            .inMemory(),
            beforeRead: { read in
                // What an `IndexPlan` reads.
                if "\(read.outcome)" == "Survey" { looks.withLock { $0 += 1 } }
            })
        let world = World(storage, limits: .with { $0.indexesPerDatabase = 1 })
        let alice = try await world.person("alice", with: "Trips")
        let bob = try await world.person("bob")
        try await alice.shareTrail(with: bob)
        try await alice.modify(
            [
                hut(
                    .create, "hut", [beds(1), Field(name: "height", value: .int64(2))],
                    parent: .some("root"))
            ], in: "Trips")
        func names(_ field: String, by person: Person) async throws -> [String] {
            let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user(field))])
            let isOwn = person.name == alice.name
            let scope: DatabaseScope = isOwn ? .private : .shared
            return try await person.ask(
                RecordsQuery.self,
                .init(query: query, zoneID: isOwn ? zone("Trips") : zone("Trips", of: alice)),
                in: scope
            ).records.compactMap(\.name)
        }
        #expect(try await names("beds", by: alice) == ["hut"])
        #expect(try await names("height", by: bob) == ["hut"])
        let before = looks.withLock { $0 }
        #expect(before > 0)
        #expect(try await names("height", by: bob) == ["hut"])
        #expect(looks.withLock { $0 } == before)
        // The owner's query may replace the other index, and looks at them.
        #expect(try await names("height", by: alice) == ["hut"])
        #expect(looks.withLock { $0 } > before)
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
