import Foundation
import StratusRecords
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

/// Deletions whose cascade is too large for one transaction.
@Suite struct LargeDeletionTests {
    private static func owner(_ name: String) -> Field {
        Field(
            name: "owner",
            value: .reference(Reference(recordName: name, action: .deleteSelf)))
    }

    /// A hierarchy whose records are deleted with their parents, on storage that outlives its services.
    private struct Hierarchy: SteppedHierarchy {
        let storage: any StorageEngine
        let names: [String]
        let limits: Limits
        private(set) var world: World
        private(set) var ida: Person

        init(_ backend: Backend, count: Int = 80) async throws {
            storage = try backend.storage()
            limits = .inSmallSteps
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
            try await ida.makeZone("Trips")
            names = (0..<count).map { "r\($0)" }
            try await ida.modify([hut(.create, "r0")], in: "Trips")
            for start in stride(from: 1, to: count, by: 20) {
                try await ida.modify(
                    (start..<min(start + 20, count)).map { number in
                        let parent = "r\((number - 1) / 3)"
                        return hut(
                            .create, "r\(number)", [LargeDeletionTests.owner(parent)],
                            parent: .some(parent))
                    }, in: "Trips")
            }
        }

        mutating func restart() async throws {
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
        }

        func step() async throws -> Bool {
            try await world.step(ida, in: storage)
        }

        /// Paul, with whom the hierarchy is shared.
        func paulWithShare() async throws -> Person {
            let paul = try await world.person("paul@example.org")
            let made = try await ida.modify(
                [share(.create, "S", of: "r0", participants: [invited(paul)])], in: "Trips")
            #expect(try await paul.accept(made[0].record?.shortGUID ?? "").error == nil)
            while try await step() {}
            return paul
        }

        func living() async throws -> Set<String> {
            let found = try await ida.lookup(names, in: "Trips")
            return Set(found.compactMap { $0.record?.recordName })
        }
    }

    @Test(arguments: Backend.allCases)
    func largeCascadeIsDeletedInStepsAcrossRestarts(_ backend: Backend) async throws {
        var tree = try await Hierarchy(backend)
        let results = try await tree.ida.modify([hut(.forceDelete, "r0")], in: "Trips")
        #expect(results[0].tombstone != nil)
        var living = try await tree.living()
        #expect(!living.contains("r0") && living.count > 50)
        var token: String?
        var deleted: [String: Int] = [:]
        let steps = try await tree.performSteps { tree in
            let left = try await tree.living()
            #expect(left.isSubset(of: living))
            living = left
            var isMore = true
            while isMore {
                let page = try await tree.ida.at("tablet").page("Trips", since: token, limit: 5)
                for case .deleted(let gone) in page.records {
                    deleted[gone.recordName, default: 0] += 1
                }
                token = page.syncToken
                isMore = page.moreComing
            }
        }
        #expect(steps > 8)
        #expect(living == [])
        #expect(deleted.values.allSatisfy { $0 == 1 } && deleted.count > 50)
    }

    /// Writes treat a record that is being deleted as gone, though it can still be read.
    @Test func recordsBeingDeletedAreRefusedInSavesAndReferences() async throws {
        let tree = try await Hierarchy(.memory)
        try await tree.ida.modify([hut(.forceDelete, "r0")], in: "Trips")
        let last = try #require(try await tree.living().sorted().last)
        func codes(_ operations: [RecordsModify.Operation]) async throws -> [ServiceError.Code?] {
            try await tree.ida.modify(
                operations, in: zone("Trips", of: tree.ida), scope: .private
            ).map(\.code)
        }
        #expect(
            try await codes([
                hut(.forceUpdate, last, [beds(3)]),
                hut(.create, "child", parent: .some(last)),
            ]) == [.zoneBusy, .validatingReferenceError])
        let again = try await tree.ida.modify([hut(.forceDelete, last)], in: "Trips")
        #expect(again[0].tombstone != nil)
        // Another deletion may begin while the first one is in progress.
        try await tree.ida.modify([hut(.create, "other")], in: "Trips")
        #expect(try await codes([hut(.forceDelete, "other")]) == [nil])
        while try await tree.step() {}
        #expect(try await tree.living() == [])
        #expect(
            try await codes([hut(.create, last), hut(.create, "c", parent: .some(last))]) == [
                nil, nil,
            ])
    }

    /// With its root the share ends at once, and the records below can no longer be read.
    @Test func deletedLargeHierarchyEndsAccessAtOnce() async throws {
        let tree = try await Hierarchy(.memory)
        let paul = try await tree.paulWithShare()
        func seen() async throws -> Int {
            try await paul.lookup(tree.names, in: zone("Trips", of: tree.ida))
                .compactMap(\.record).count
        }
        #expect(try await seen() == tree.names.count)
        try await tree.ida.modify([hut(.forceDelete, "r0")], in: "Trips")
        #expect(try await seen() == 0)
        // Nor through another share of a new record with the root's name.
        try await tree.ida.modify([hut(.create, "r0")], in: "Trips")
        let early = await tree.ida.refusal(of: [share(.create, "T", of: "r0")], in: "Trips")
        #expect(early?.records?.first?.code == .zoneBusy)
        while try await tree.step() { #expect(try await seen() == 0) }
        #expect(try await tree.living() == ["r0"])
    }

    @Test func largeZoneIsDeletedInSteps() async throws {
        var tree = try await Hierarchy(.memory)
        let paul = try await tree.paulWithShare()
        try await tree.ida.deleteZone("Trips")
        #expect(try await tree.ida.lookup(["r1"], in: "Trips")[0].code == .zoneNotFound)
        #expect(
            try await paul.lookup(["r1"], in: zone("Trips", of: tree.ida))[0].code == .zoneNotFound)
        let busy = try await tree.ida.ask(
            ZonesModify.self, .init(operations: [.init(.create, zone("Trips"))]))
        #expect(busy.items[0].error?.code == .zoneBusy)
        var steps = 0
        while try await tree.step() {
            steps += 1
            try await tree.restart()
        }
        #expect(steps > 10)
        try await tree.ida.makeZone("Trips")
        #expect(try await tree.living() == [])
        #expect(try await tree.ida.page("Trips").records.isEmpty)
        let store = try await tree.storage.store(
            for: DatabaseAddress(tree.world.address, .private(owner: tree.ida.name)))
        #expect(
            try await store.read { try $0.recordBytes } == store.read { try $0.countRecordBytes() })
    }

    /// A device that got no answer sends its request again; what failed for the moment must not fail for a week.
    @Test func repeatedCreationSucceedsWhenTheFormerZoneIsGone() async throws {
        let tree = try await Hierarchy(.memory)
        try await tree.ida.deleteZone("Trips")
        func create() async throws -> [ServiceError.Code?] {
            try await tree.ida.ask(
                ZonesModify.self,
                .init(
                    operations: ["Trips", "New"].map { .init(.create, zone($0)) },
                    operationID: "zones-1")
            ).items.map { $0.error?.code }
        }
        #expect(try await create() == [.zoneBusy, nil])
        try await tree.ida.deleteZone("New")
        while try await tree.step() {}
        // The zone that was created, and deleted since, is not created again.
        #expect(try await create() == [nil, .zoneNotFound])
    }

    @Test func doctorFindsNothingBetweenSteps() async throws {
        let tree = try await Hierarchy(.sqlite, count: 40)
        let storage = try #require(tree.storage as? SQLiteStorageEngine)
        func findings() async throws -> [Finding] {
            try await Doctor(storage: storage).examine().findings
        }
        try await tree.ida.modify([share(.create, "S", of: "r0")], in: "Trips")
        try await tree.ida.modify([hut(.forceDelete, "r0")], in: "Trips")
        repeat { #expect(try await findings() == []) } while try await tree.step()
        try await tree.ida.modify((0..<20).map { hut(.create, "n\($0)") }, in: "Trips")
        try await tree.ida.deleteZone("Trips")
        repeat { #expect(try await findings() == []) } while try await tree.step()
    }
}
