import Foundation
import GRDB
import StratusRecords
import StratusStorage
import StratusWire
import TestProcesses
import Testing

@testable import StratusService

/// The records of a large cascade are found in steps too, and held until the deletion is decided.
@Suite struct CascadeSearchTests {
    private static let zoneName = "Trips"

    /// A tree on disk in which each record has three children, which are deleted with it.
    private struct Tree {
        let folder: String
        let storage: SQLiteStorageEngine
        let names: [String]
        let limits: Limits
        private(set) var world: World
        private(set) var ida: Person

        init(count: Int = 80, isStepped: Bool = true) async throws {
            folder = try RunFolder.newFolder()
            storage = try SQLiteStorageEngine(folder: folder)
            limits = .inSmallSteps
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
            try await ida.makeZone(zoneName)
            names = (0..<count).map { "r\($0)" }
            for start in stride(from: 0, to: count, by: 20) {
                try await ida.modify(
                    names[start..<min(start + 20, count)].enumerated().map { index, name in
                        let number = start + index
                        let parent = number == 0 ? nil : "r\((number - 1) / 3)"
                        return hut(
                            .create, name, parent.map { [owner($0)] } ?? [],
                            parent: parent.map { .some($0) } ?? .absent)
                    }, in: zoneName)
            }
        }

        mutating func restart() async throws {
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
        }

        var address: DatabaseAddress {
            DatabaseAddress(world.address, .private(owner: ida.name))
        }

        func step() async throws -> Bool {
            let store = try await storage.store(for: address)
            return try await world.service.components.longChanges.step(store)
        }

        func living() async throws -> Set<String> {
            let found = try await ida.lookup(names, in: zoneName)
            return Set(found.compactMap { $0.record?.recordName })
        }

        /// The number of pending deletions, whether they are decided or only held.
        func deletions() async throws -> Int {
            try await storage.store(for: address)
                .read { try $0.longChanges(.deletion, limit: .max).count }
        }

        func codes(
            _ operations: [RecordsModify.Operation]
        ) async throws -> [ServiceError.Code?] {
            try await ida.modify(
                operations, in: zone(zoneName, of: ida), scope: .private
            ).map(\.code)
        }

        func findings() async throws -> [Finding] {
            try await Doctor(storage: storage).examine().findings
        }

        /// The search that a request to delete a record would begin.
        func search(_ root: String) -> CascadeSearch {
            let context = RequestContext(
                caller: Caller(userRecordName: ida.name, device: "phone"), address: world.address,
                scope: .private, origin: "", limits: limits,
                nowMilliseconds: world.nowMilliseconds)
            let key = RecordKey(zoneName: zoneName, name: root)
            return CascadeSearch(
                CascadeQuestion(roots: [key], saves: [], access: [zoneName: 0]), operations: 1,
                in: context,
                LongDeletion(
                    user: ida.name, device: "phone", milliseconds: world.nowMilliseconds,
                    number: 1))
        }

        func commits() throws -> Int {
            let files = FileManager.default.enumerator(atPath: folder + "/databases")
            let file = files?.compactMap { $0 as? String }.first { $0.hasSuffix(".sqlite") }
            var configuration = Configuration()
            configuration.readonly = true
            return try DatabaseQueue(
                path: folder + "/databases/" + #require(file), configuration: configuration
            ).read { try #require(try Int.fetchOne($0, sql: "SELECT commits FROM history")) }
        }
    }

    private static func owner(_ name: String) -> Field {
        Field(
            name: "owner",
            value: .reference(Reference(recordName: name, action: .deleteSelf)))
    }

    /// No transaction searches more than a step's records, however many are deleted.
    @Test func largeCascadeIsSearchedInManyTransactions() async throws {
        let tree = try await Tree()
        let before = try tree.commits()
        let results = try await tree.ida.modify([hut(.forceDelete, "r0")], in: Self.zoneName)
        #expect(results[0].tombstone != nil)
        // Each record is searched once, at most seven in a step.
        #expect(try tree.commits() - before > tree.names.count / tree.limits.recordsPerStep)
        while try await tree.step() {}
        #expect(try await tree.living() == [])
        #expect(try await tree.deletions() == 0)
        #expect(try await tree.findings() == [])
    }

    /// Between the steps the found records can be read but not changed, and other records can be saved.
    @Test func foundRecordsRefuseChangesDuringTheSearch() async throws {
        let tree = try await Tree()
        let store = try await tree.storage.store(for: tree.address)
        var search = tree.search("r0")
        tree.world.service.components.longChanges.hold(search.claim.text)
        var held = 0
        var isMore = true
        while isMore {
            isMore = try await search.step(in: store)
            let now = try await tree.deletions()
            // The last record searched may have three more children.
            #expect(now - held <= tree.limits.recordsPerStep + 3)
            held = now
            #expect(try await tree.living().count == tree.names.count)
            #expect(
                try await tree.codes([
                    hut(.forceUpdate, "r1", [beds(3)]), hut(.forceDelete, "r2"),
                    hut(.create, "child", parent: .some("r1")),
                    hut(.create, "held", [Self.owner("r0")]), hut(.forceUpdate, "other", [beds(1)]),
                ]) == [.zoneBusy, .zoneBusy, .zoneBusy, .zoneBusy, nil])
            // No other task may carry out or release what the request holds.
            #expect(try await !tree.step())
        }
        #expect(held == tree.names.count)
    }

    /// A request whose process ended got no answer: nothing is deleted.
    @Test func recordsHeldByAnEndedProcessAreReleasedInSteps() async throws {
        var tree = try await Tree()
        let store = try await tree.storage.store(for: tree.address)
        var search = tree.search("r0")
        for _ in 0..<5 { #expect(try await search.step(in: store)) }
        var held = try await tree.deletions()
        #expect(held > 30)
        #expect(try await tree.findings() == [])
        try await tree.restart()
        while try await tree.step() {
            let now = try await tree.deletions()
            #expect(held - now <= tree.limits.recordsPerStep)
            held = now
            try await tree.restart()
        }
        #expect(held == 0)
        #expect(try await tree.living().count == tree.names.count)
        #expect(try await tree.codes([hut(.forceUpdate, "r1", [beds(3)])]) == [nil])
        #expect(try await tree.findings() == [])
        #expect(
            try await tree.ida.modify([hut(.forceDelete, "r0")], in: Self.zoneName)[0].tombstone
                != nil)
        while try await tree.step() { try await tree.restart() }
        #expect(try await tree.living() == [])
    }

    /// A large cascade is refused as a whole if another record refers to one of its own, and releases what it held.
    @Test func refusedCascadeReleasesItsRecords() async throws {
        let tree = try await Tree()
        try await tree.ida.modify(
            [hut(.create, "guest", parent: .some("r79"))], in: Self.zoneName)
        let refusal = await tree.ida.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.forceDelete, "r0"), hut(.forceUpdate, "guest", [beds(2)])],
                zoneID: zone(Self.zoneName)))
        #expect(
            refusal?.records?.map(\.code) == [.validatingReferenceError, .atomicError],
            "\(String(describing: refusal))")
        while try await tree.step() {}
        #expect(try await tree.deletions() == 0)
        #expect(try await tree.living().count == tree.names.count)
        // Together with the referring record, the whole tree is deleted.
        let results = try await tree.ida.modify(
            [hut(.forceDelete, "r0"), hut(.forceDelete, "guest")], in: Self.zoneName)
        #expect(results.allSatisfy { $0.tombstone != nil })
        while try await tree.step() {}
        #expect(try await tree.living() == [])
    }

    /// In a zone that is not atomic one of two deletions is refused; the records that only its cascade held are
    /// released.
    @Test func refusedDeletionReleasesOnlyItsOwnRecords() async throws {
        let tree = try await Tree()
        try await tree.ida.modify(
            [hut(.create, "guest", parent: .some("r79"))], in: Self.zoneName)
        // r79 is below r8 and r2; the tree below r1 is as large.
        let results = try await tree.ida.modify(
            [hut(.forceDelete, "r1"), hut(.forceDelete, "r2")], in: Self.zoneName, isAtomic: false)
        #expect(results.map(\.code) == [nil, .validatingReferenceError])
        while try await tree.step() {}
        #expect(try await tree.deletions() == 0)
        let living = try await tree.living()
        #expect(living.contains("r2") && living.contains("r79") && !living.contains("r1"))
        #expect(!living.contains("r4") && living.contains("r7"))
        #expect(try await tree.findings() == [])
    }
}
