import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusService

/// What happens when a database is full, and that the counters match the rows.
@Suite(.serialized) struct ServiceQuotaTests {
    private func world(
        _ backend: Backend = .memory, _ change: (inout Limits) -> Void
    ) throws -> World {
        var limits = Limits()
        change(&limits)
        return World(try backend.storage(), limits: limits)
    }

    private func store(_ world: World, of person: Person?) async throws -> any RecordStore {
        try await world.service.components.databases.store(
            for: DatabaseAddress(
                world.address, person.map { .private(owner: $0.name) } ?? .public))
    }

    private func text(_ bytes: Int) -> Field {
        Field(name: "text", value: .string(String(repeating: "x", count: bytes)))
    }

    private func expectExactCounters(
        _ store: any RecordStore, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let (kept, counted) = try await store.read { try ($0.recordBytes, $0.countRecordBytes()) }
        #expect(kept == counted, sourceLocation: location)
    }

    @Test(arguments: Backend.allCases)
    func fullDatabaseAcceptsDeletionsAndSmallerRecords(_ backend: Backend) async throws {
        let world = try world(backend) { $0.privateDatabaseBytes = 10_000 }
        let alice = try await world.person("alice")
        let saved = try await alice.modify([
            hut(.create, "a", [text(4_000)]), hut(.create, "b", [text(4_000)]),
        ])
        #expect(saved.map(\.code) == [nil, nil])

        let refused = try await alice.modify([hut(.create, "c", [text(4_000)])])
        #expect(refused[0].code == .quotaExceeded)
        #expect(refused[0].failed?.error.frameworkCode == .quotaExceeded)
        #expect(
            try await alice.modify([hut(.forceUpdate, "a", [text(6_000)])])[0].code
                == .quotaExceeded)
        #expect(try await alice.lookup(["c"])[0].code == .notFound)

        #expect(try await alice.modify([hut(.forceUpdate, "a", [text(100)])])[0].code == nil)
        #expect(try await alice.modify([hut(.create, "c", [text(4_000)])])[0].code == nil)
        #expect(try await alice.modify([hut(.forceDelete, "b")])[0].code == nil)
        #expect(try await alice.modify([hut(.create, "d", [text(4_000)])])[0].code == nil)
        try await expectExactCounters(try await store(world, of: alice))
        #expect(
            try await world.person("bob").modify([hut(.create, "a", [text(4_000)])])[0].code == nil)
    }

    @Test func requestCanUseTheQuotaItFrees() async throws {
        let world = try world { $0.privateDatabaseBytes = 10_000 }
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a", [text(8_000)])])
        let swapped = try await alice.modify([
            hut(.create, "b", [text(8_000)]), hut(.forceDelete, "a"),
        ])
        #expect(swapped.map(\.code) == [nil, nil])
    }

    /// A deletion that fails frees no quota.
    @Test func failedDeletionFreesNoQuota() async throws {
        let world = try world { $0.privateDatabaseBytes = 10_000 }
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a", [text(8_000)])])
        let results = try await alice.modify(
            [hut(.create, "b", [text(8_000)]), hut(.delete, "a", tag: "stale")], isAtomic: false)
        #expect(results.map(\.code) == [.quotaExceeded, .conflict])
        try await expectExactCounters(try await store(world, of: alice))
    }

    @Test func exceededQuotaFailsAtomicRequest() async throws {
        let world = try world { $0.privateDatabaseBytes = 10_000 }
        let alice = try await world.person("alice", with: "Trips")
        let failure = await alice.refusal(
            of: [hut(.create, "a", [text(10)]), hut(.create, "b", [text(20_000)])], in: "Trips")
        #expect(failure?.error.code == .atomicError)
        #expect(failure?.records?.map(\.code) == [.atomicError, .quotaExceeded])
        #expect(try await store(world, of: alice).read { try $0.recordBytes } == 0)
    }

    @Test func deletedZoneFreesQuota() async throws {
        let world = try world { $0.privateDatabaseBytes = 10_000 }
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a", [text(8_000)])], in: "Trips")
        #expect(
            try await alice.modify([hut(.create, "b", [text(8_000)])])[0].code == .quotaExceeded)
        try await alice.deleteZone("Trips")
        #expect(try await alice.modify([hut(.create, "b", [text(8_000)])])[0].code == nil)
        try await expectExactCounters(try await store(world, of: alice))
    }

    @Test func publicDatabaseQuotaIsSharedByAllUsers() async throws {
        let world = try world { $0.publicRecordBytes = 5_000 }
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        #expect(
            try await alice.modify([hut(.create, "a", [text(4_000)])], scope: .public)[0].code
                == nil)
        let refused = try await bob.modify([hut(.create, "b", [text(4_000)])], scope: .public)
        #expect(refused[0].code == .quotaExceeded)
        // The private databases are not affected.
        #expect(try await bob.modify([hut(.create, "b", [text(4_000)])])[0].code == nil)
    }

    /// Concurrent writers of one database never exceed the quota together.
    @Test(arguments: Backend.allCases)
    func concurrentWritersStayWithinQuota(_ backend: Backend) async throws {
        let world = try world(backend) { $0.privateDatabaseBytes = 50_000 }
        let alice = try await world.person("alice")
        let codes = try await withThrowingTaskGroup(of: ServiceError.Code?.self) { group in
            for number in 0..<60 {
                group.addTask {
                    try await alice.at("device\(number)")
                        .modify([hut(.create, "r\(number)", [text(2_000)])])[0].code
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let saved = codes.count { $0 == nil }
        #expect(codes.count { $0 == .quotaExceeded } == 60 - saved)
        #expect((20...24).contains(saved), "\(saved)")
        let store = try await store(world, of: alice)
        #expect(try await store.read { try $0.recordBytes } <= 50_000)
        try await expectExactCounters(store)
    }

    /// Random operations of every kind, some of them refused: the counters match the rows.
    @Test(arguments: Backend.allCases, Seeds.forTest("ServiceQuotaTests", count: 1))
    func quotaCounterEqualsTheStoredRows(_ backend: Backend, seed: UInt64) async throws {
        let world = try world(backend) { $0.privateDatabaseBytes = 30_000 }
        let alice = try await world.person("alice", with: "Trips")
        var numbers = SeededNumbers(seed: seed)
        let kinds = RecordsModify.Kind.allCases
        for round in 0..<60 {
            var names = Set<String>()
            let operations = (0..<5).compactMap { _ -> RecordsModify.Operation? in
                let name = "r\(Int.random(in: 0..<12, using: &numbers))"
                guard names.insert(name).inserted else { return nil }
                return hut(
                    kinds[Int.random(in: 0..<kinds.count, using: &numbers)], name,
                    [text(Int.random(in: 0..<6_000, using: &numbers))])
            }
            let isInZone = Bool.random(using: &numbers)
            _ = await alice.refusal(
                RecordsModify.self,
                .init(
                    operations: operations, zoneID: isInZone ? zone("Trips") : nil,
                    isAtomic: Bool.random(using: &numbers)))
            if round % 20 == 19 {
                try await alice.deleteZone("Trips")
                try await alice.makeZone("Trips")
            }
            try await expectExactCounters(try await store(world, of: alice))
        }
        let bytes = try await store(world, of: alice).read { try $0.recordBytes }
        #expect((1...30_000).contains(bytes))
    }

    @Test func privateRecordsAndAssetsShareOneQuota() {
        var limits = Limits()
        limits.privateDatabaseBytes = 1_000
        limits.publicRecordBytes = 300
        limits.publicAssetBytes = 500
        let own = Quota(.private(owner: "_a"), limits: limits, recordBytes: 200, assetBytes: 700)
        #expect(own.freeRecordBytes == 100 && own.freeAssetBytes == 100)
        #expect(own.error.code == .quotaExceeded)
        let everybodys = Quota(.public, limits: limits, recordBytes: 200, assetBytes: 700)
        #expect(everybodys.freeRecordBytes == 100 && everybodys.freeAssetBytes == -200)
    }

    @Test func lookupOfTooManyBytesReturnsLimitExceeded() async throws {
        let world = try world { $0.recordBytesPerLookup = 10_000 }
        let alice = try await world.person("alice")
        let names = (0..<40).map { "r\($0)" }
        try await alice.modify(names.map { hut(.create, $0, [text(400)]) })
        let request = RecordsLookup.Request(records: names.map { .init(recordName: $0) })
        let refusal = await alice.refusal(RecordsLookup.self, request)
        #expect(
            refusal?.error.code == .badRequest && refusal?.error.frameworkCode == .limitExceeded)
        #expect(try await alice.lookup(Array(names.prefix(20))).count { $0.record != nil } == 20)
    }

    /// The answer has the record as often.
    @Test func lookupOfOneRecordManyTimesReturnsLimitExceeded() async throws {
        let world = try world { $0.recordBytesPerLookup = 10_000 }
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "r", [text(400)])])
        let request = RecordsLookup.Request(
            records: (0..<40).map { _ in .init(recordName: "r") })
        let refusal = await alice.refusal(RecordsLookup.self, request)
        #expect(refusal?.error.frameworkCode == .limitExceeded)
        let few = try await alice.lookup(Array(repeating: "r", count: 20))
        #expect(few.count { $0.record != nil } == 20)
    }

    @Test func modifyOfTooManyBytesReturnsLimitExceeded() async throws {
        let world = try world { $0.recordBytesPerModify = 10_000 }
        let alice = try await world.person("alice")
        let names = (0..<40).map { "r\($0)" }
        try await alice.modify(names.map { hut(.create, $0, [text(400)]) })
        for kind in [RecordsModify.Kind.forceUpdate, .forceReplace, .forceDelete] {
            let refusal = await alice.refusal(
                RecordsModify.self, .init(operations: names.map { hut(kind, $0) }))
            #expect(
                refusal?.error.code == .badRequest && refusal?.error.frameworkCode == .limitExceeded
            )
        }
        let few = try await alice.modify(names.prefix(20).map { hut(.forceUpdate, $0) })
        #expect(few.allSatisfy { $0.record != nil })
    }
}
