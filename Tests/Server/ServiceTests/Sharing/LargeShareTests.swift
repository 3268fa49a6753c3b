import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Hierarchies that are too large to be shared in one transaction.
@Suite struct LargeShareTests {
    /// A zone with a chain of `depth` records, each with `width` children, over storage that outlives its
    /// services.
    struct Hierarchy: SteppedHierarchy {
        let backend: Backend
        let storage: any StorageEngine
        let limits: Limits
        let names: [String]
        private(set) var world: World
        private(set) var ida: Person
        private(set) var paul: Person

        init(
            _ backend: Backend, depth: Int, width: Int, perStep: Int = 7,
            perLongCascade: Int = Limits().recordsPerLongCascade
        ) async throws {
            self.backend = backend
            storage = try backend.storage()
            var limits = Limits()
            limits.recordsPerShareChange = 10
            limits.recordsPerStep = perStep
            limits.recordsPerLongCascade = perLongCascade
            self.limits = limits
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
            paul = try await world.person("paul@example.org")
            try await ida.makeZone("Trips")
            var names: [String] = []
            for level in 0..<depth {
                let parent: RecordDictionary.ParentChange =
                    level == 0 ? .absent : .some("c\(level - 1)")
                let record = hut(.create, "c\(level)", [beds(1)], parent: parent)
                let children = (0..<width).map {
                    hut(.create, "c\(level)-\($0)", [beds(2)], parent: .some("c\(level)"))
                }
                names += ["c\(level)"] + (0..<width).map { "c\(level)-\($0)" }
                try await ida.modify([record] + children, in: "Trips")
            }
            self.names = names
        }

        /// Replaces the service by another one on the same storage.
        mutating func restart() async throws {
            world = World(storage, limits: limits, startsLongChanges: false)
            ida = try await world.person("ida@example.org")
            paul = try await world.person("paul@example.org")
        }

        func step() async throws -> Bool {
            try await world.step(ida, in: storage)
        }

        /// The changes that Paul gets from the zone's feed, page by page.
        func changes(since token: inout String?, limit: Int) async throws -> [RecordResult] {
            var results: [RecordResult] = []
            while true {
                let page = try #require(
                    try await paul.changes(
                        in: zone("Trips", of: ida), since: token, limit: limit
                    ).page)
                results += page.records
                token = page.syncToken
                if !page.moreComing { return results }
            }
        }

        /// The records of the hierarchy that Paul finds.
        func visible() async throws -> Set<String> {
            let found = try await paul.lookup(names, in: zone("Trips", of: ida))
            return Set(found.compactMap { $0.record?.recordName })
        }

        func share() async throws -> String {
            let made = try await ida.modify(
                [
                    StratusServiceTests.share(
                        .create, "S", of: "c0", participants: [invited(paul, .readWrite)])
                ], in: "Trips")
            return try #require(made[0].record?.shortGUID)
        }
    }

    @Test(arguments: Backend.allCases)
    func largeHierarchyIsSharedInStepsAcrossRestarts(_ backend: Backend) async throws {
        var tree = try await Hierarchy(backend, depth: 12, width: 5)
        let shortGUID = try await tree.share()
        #expect(try await tree.paul.accept(shortGUID).error == nil)
        var seen = try await tree.visible()
        #expect(seen.contains("c0") && seen.count < tree.names.count)
        var feed = Feed()
        try await feed.catchUp(tree)
        let steps = try await tree.performSteps { tree in
            let visible = try await tree.visible()
            #expect(visible.isSuperset(of: seen))
            seen = visible
            try await feed.catchUp(tree)
        }
        #expect(steps > 8)
        #expect(seen == Set(tree.names))
        // Each exactly once, and none deleted.
        #expect(
            feed.received.filter { $0.key != "S" }
                == .init(uniqueKeysWithValues: tree.names.map { ($0, 1) }))
        #expect(feed.deleted.isEmpty)
    }

    @Test(arguments: Backend.allCases)
    func deletedShareOfLargeHierarchyEndsAccessAtOnce(_ backend: Backend) async throws {
        var tree = try await Hierarchy(backend, depth: 12, width: 5)
        #expect(try await tree.paul.accept(tree.share()).error == nil)
        while try await tree.step() {}
        try await tree.ida.modify([hut(.forceDelete, "S")], in: "Trips")
        #expect(try await tree.visible() == [])
        // Until the last step the root cannot be shared again, since other records still belong to its old share.
        let refused = await tree.ida.refusal(
            RecordsModify.self,
            .init(operations: [share(.create, "T", of: "c0")], zoneID: zone("Trips")))
        #expect(refused?.records?.first?.code == .zoneBusy)
        #expect(refused?.records?.first?.failed?.error.retryAfterSeconds != nil)
        var steps = 0
        while try await tree.step() {
            steps += 1
            try await tree.restart()
            #expect(try await tree.visible() == [])
        }
        #expect(steps > 8)
        try await tree.ida.modify(
            [share(.create, "T", of: "c0", participants: [invited(tree.paul)])], in: "Trips")
        let found = try await tree.ida.lookup(["T"], in: "Trips")
        #expect(try await tree.paul.accept(found[0].record?.shortGUID ?? "").error == nil)
        while try await tree.step() {}
        #expect(try await tree.visible() == Set(tree.names))
    }

    /// Records moved out of a hierarchy whose share has ended are hidden from participants of the next share.
    @Test func recordsMovedWhileShareEndsStayHidden() async throws {
        let tree = try await Hierarchy(.memory, depth: 12, width: 5)
        #expect(try await tree.paul.accept(tree.share()).error == nil)
        while try await tree.step() {}
        try await tree.ida.modify([hut(.forceDelete, "S")], in: "Trips")
        try await tree.ida.modify([hut(.forceUpdate, "c6", parent: .none)], in: "Trips")
        while try await tree.step() {}
        let made = try await tree.ida.modify(
            [share(.create, "T", of: "c0", participants: [invited(tree.paul)])], in: "Trips")
        #expect(try await tree.paul.accept(made[0].record?.shortGUID ?? "").error == nil)
        while try await tree.step() {}
        let levels = Set(
            (0..<6).flatMap { level in
                ["c\(level)"] + (0..<5).map { "c\(level)-\($0)" }
            })
        #expect(try await tree.visible() == levels)
    }

    /// The doctor reports no violations in the folder after any step.
    @Test func doctorFindsNothingBetweenSteps() async throws {
        let tree = try await Hierarchy(.sqlite, depth: 4, width: 5)
        let storage = try #require(tree.storage as? SQLiteStorageEngine)
        func findings() async throws -> [Finding] {
            try await Doctor(storage: storage).examine().findings
        }
        _ = try await tree.share()
        repeat { #expect(try await findings() == []) } while try await tree.step()
        try await tree.ida.modify([hut(.forceDelete, "S")], in: "Trips")
        repeat { #expect(try await findings() == []) } while try await tree.step()
    }

    /// The steps continue without a further request.
    @Test func stepsRunWithoutFurtherRequests() async throws {
        let storage = try Backend.memory.storage()
        let world = World(
            storage,
            limits: .with {
                $0.recordsPerShareChange = 10
                $0.recordsPerStep = 3
            })
        let ida = try await world.person("ida@example.org", with: "Trips")
        try await ida.modify([hut(.create, "root")], in: "Trips")
        try await ida.modify(
            (0..<50).map { hut(.create, "h\($0)", parent: .some("root")) }, in: "Trips")
        try await ida.modify([share(.create, "S", of: "root")], in: "Trips")
        await world.service.waitUntilIdle()
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: ida.name)))
        let placed = try await store.read { reader in
            let zone = try #require(try reader.zone(named: "Trips")).key
            return try reader.records(named: (0..<50).map { "h\($0)" }, in: zone).values
                .filter { $0.shareRoot == "root" }.count
        }
        #expect(placed == 50)
    }
}

/// A device of Paul's that reads the zone's feed.
private struct Feed {
    var token: String?
    /// How often each record came.
    var received: [String: Int] = [:]
    var deleted: Set<String> = []

    mutating func catchUp(_ tree: LargeShareTests.Hierarchy) async throws {
        for result in try await tree.changes(since: &token, limit: 3) {
            if let name = result.record?.recordName { received[name, default: 0] += 1 }
            if let name = result.tombstone?.recordName { deleted.insert(name) }
        }
    }
}
