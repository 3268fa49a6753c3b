import StratusRecords
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// Many records leave a share that continues: they are hidden at once, and removed in steps.
@Suite struct DepartureTests {
    /// A chain of twelve records with five children each, shared with Paul; those from the seventh on will leave.
    private func sharedTree(
        _ backend: Backend = .memory, perLongCascade: Int = Limits().recordsPerLongCascade
    ) async throws -> (tree: LargeShareTests.Hierarchy, stays: Set<String>) {
        let tree = try await LargeShareTests.Hierarchy(
            backend, depth: 12, width: 5, perLongCascade: perLongCascade)
        #expect(try await tree.paul.accept(tree.share()).error == nil)
        while try await tree.step() {}
        #expect(try await tree.visible() == Set(tree.names))
        let stays = Set(
            (0..<6).flatMap { level in
                ["c\(level)"] + (0..<5).map { "c\(level)-\($0)" }
            })
        return (tree, stays)
    }

    private func leave(_ tree: LargeShareTests.Hierarchy) async throws {
        try await tree.ida.modify([hut(.forceUpdate, "c6", parent: .none)], in: "Trips")
    }

    private func found(_ tree: LargeShareTests.Hierarchy) async throws -> Set<String> {
        let query = QueryDictionary(
            recordType: "Hut", filterBy: [.init(.greaterThan, .user("beds"), .int64(0))])
        let page = try await tree.paul.ask(
            RecordsQuery.self, .init(query: query, zoneID: zone("Trips", of: tree.ida)),
            in: .shared)
        return Set(page.records.compactMap(\.name))
    }

    @Test(arguments: Backend.allCases)
    func recordsMovedOutOfSharedHierarchyAreHiddenAtOnce(_ backend: Backend) async throws {
        var (tree, stays) = try await sharedTree(backend)
        try await leave(tree)
        let mayNot = try await tree.paul.modify(
            [hut(.forceUpdate, "c9", [beds(7)])], in: zone("Trips", of: tree.ida), scope: .shared)
        #expect(mayNot[0].failed != nil)
        let may = try await tree.paul.modify(
            [hut(.forceUpdate, "c5", [beds(7)])], in: zone("Trips", of: tree.ida), scope: .shared)
        #expect(may[0].failed == nil)
        var steps = 0
        repeat {
            #expect(try await tree.visible() == stays)
            #expect(try await found(tree) == stays)
            if let storage = tree.storage as? SQLiteStorageEngine {
                #expect(try await Doctor(storage: storage).examine().findings == [])
            }
            try await tree.restart()
            steps += 1
        } while try await tree.step()
        #expect(steps > 5)
        #expect(try await tree.visible() == stays)
        let rows = try await tree.storage.store(
            for: DatabaseAddress(tree.world.address, .private(owner: tree.ida.name))
        ).read { reader in
            try LongChangeRow.Kind.allCases.flatMap { try reader.longChanges($0, limit: 9) }
        }
        #expect(rows.isEmpty)
    }

    /// A device that had the records gets their deletions; until it can, its feed waits.
    @Test func feedReportsRecordsMovedOutAsDeleted() async throws {
        let (tree, stays) = try await sharedTree()
        var feed = SharingFeed()
        try await feed.catchUp(tree)
        #expect(feed.names == Set(tree.names))
        try await leave(tree)
        while try await tree.step() {}
        try await feed.catchUp(tree)
        #expect(feed.names == stays)
        // A new device never sees them.
        var fresh = SharingFeed()
        try await fresh.catchUp(tree)
        #expect(fresh.names == stays)
    }

    @Test func newFeedWaitsUntilRecordsAreMovedOut() async throws {
        let (tree, _) = try await sharedTree()
        try await leave(tree)
        let first = try await tree.paul.changes(in: zone("Trips", of: tree.ida), limit: 200)
        #expect(first.page == nil)
        while try await tree.step() {}
        let then = try await tree.paul.changes(in: zone("Trips", of: tree.ida), limit: 200)
        #expect(then.page != nil)
    }

    /// Too many records stay to compare the others with them: the zone is busy, and not gone.
    @Test func busyZoneIsNotMissingFromTheListOfZones() async throws {
        let (tree, _) = try await sharedTree(perLongCascade: 20)
        try await leave(tree)
        let refusal = await tree.paul.refusal(ZonesList.self, .init(), in: .shared)
        #expect(refusal?.error.code == .zoneBusy)
        while try await tree.step() {}
        #expect(try await tree.paul.sharedZones().count == 1)
    }

    /// Meanwhile others' zones are reported, and a device that fetches this one learns that it is busy.
    @Test func busyZoneIsReportedAsChanged() async throws {
        let (tree, _) = try await sharedTree(perLongCascade: 20)
        let cy = try await tree.world.person("cy@example.org", with: "Trips")
        try await cy.shareTrail(with: tree.paul)
        func changes(since token: String?) async throws -> (owners: Set<String>, token: String) {
            let answer = try await tree.paul.ask(
                ChangesDatabase.self, .init(syncToken: token), in: .shared)
            let zones = answer.zones.compactMap(\.zone)
            #expect(zones.allSatisfy { $0.isDeleted == false })
            return (Set(zones.compactMap(\.zoneID.ownerRecordName)), answer.syncToken)
        }
        let first = try await changes(since: nil)
        try await leave(tree)
        try await cy.modify([hut(.forceUpdate, "root", [beds(4)], type: "Trail")], in: "Trips")
        let busy = try await changes(since: first.token)
        #expect(busy.owners == [tree.ida.name, cy.name])
        #expect(try await changes(since: busy.token).owners.isEmpty)
        let page = try await tree.paul.changes(in: zone("Trips", of: tree.ida))
        #expect(page.error?.code == .zoneBusy)
        while try await tree.step() {}
        #expect(try await changes(since: busy.token).owners == [tree.ida.name])
    }

    /// If they are moved back before the last step, all of them are visible again, on a device too.
    @Test(arguments: [0, 2, 4]) func recordsMovedBackAreVisibleAgain(_ steps: Int) async throws {
        let (tree, _) = try await sharedTree()
        var feed = SharingFeed()
        try await feed.catchUp(tree)
        try await leave(tree)
        for _ in 0..<steps { _ = try await tree.step() }
        try await tree.ida.modify([hut(.forceUpdate, "c6", parent: .some("c5"))], in: "Trips")
        while try await tree.step() {}
        #expect(try await tree.visible() == Set(tree.names))
        try await feed.catchUp(tree)
        #expect(feed.names == Set(tree.names))
    }
}

/// A device of Paul's that knows the zone by its feed.
private struct SharingFeed {
    var token: String?
    var names: Set<String> = []

    mutating func catchUp(_ tree: LargeShareTests.Hierarchy) async throws {
        for result in try await tree.changes(since: &token, limit: 7) {
            if let name = result.record?.recordName, name != "S" { names.insert(name) }
            if let name = result.tombstone?.recordName { names.remove(name) }
        }
    }
}
