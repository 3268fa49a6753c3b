import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// The rows derived from a record, after writes that another record or another request causes.
@Suite struct DerivedRowsTests {
    /// A root, its share and its link.
    private func sharedRoot(_ person: Person) async throws -> String {
        try await person.linkToShared("root", share: "Share")
    }

    // MARK: A share goes with its root

    @Test func rootIsKeptWhileARecordReferencesItsShare() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        _ = try await sharedRoot(alice)
        try await alice.modify(
            [hut(.create, "note", [validated("Share")])], in: "Trips")
        let refused = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.forceDelete, "root")], zoneID: zone("Trips")))
        #expect(refused?.records?.first?.code == .validatingReferenceError)
        try await place.expectHealth(of: alice)
        try await alice.modify(
            [hut(.forceDelete, "root"), hut(.forceDelete, "note")], in: "Trips")
        #expect(try await alice.lookup(["Share"], in: "Trips")[0].code == .notFound)
        try await place.expectHealth(of: alice)
    }

    @Test func recordsReferringToShareAreDeletedWithItsRoot() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        _ = try await sharedRoot(alice)
        try await alice.modify([hut(.create, "note", [owner("Share")])], in: "Trips")
        try await alice.modify([hut(.forceDelete, "root")], in: "Trips")
        let found = try await alice.lookup(["root", "Share", "note"], in: "Trips")
        #expect(found.allSatisfy { $0.code == .notFound })
        try await place.expectHealth(of: alice)
    }

    @Test func shareSavedWithTheDeletionOfItsRootIsDeleted() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        _ = try await sharedRoot(alice)
        let saved = try await alice.modify(
            [share(.forceUpdate, "Share", title: "Summer"), hut(.forceDelete, "root")], in: "Trips")
        #expect(saved.allSatisfy { $0.failed == nil })
        #expect(try await alice.lookup(["Share"], in: "Trips")[0].code == .notFound)
        try await place.expectHealth(of: alice)
    }

    @Test func rootSavedAndDeletedByCascadeEndsItsShare() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        let link = try await sharedRoot(alice)
        try await alice.modify([hut(.create, "other")], in: "Trips")
        try await alice.modify(
            [hut(.forceUpdate, "root", [owner("other")]), hut(.forceDelete, "other")], in: "Trips")
        let found = try await alice.lookup(["root", "Share"], in: "Trips")
        #expect(found.allSatisfy { $0.code == .notFound })
        #expect(try await alice.resolve(link).error?.code == .notFound)
        try await place.expectHealth(of: alice)
    }

    @Test func newShareDeletedByCascadeSharesNothing() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "root"), hut(.create, "other")], in: "Trips")
        var operation = share(.create, "Share", of: "root")
        operation.record.fields = .values([owner("other")])
        try await alice.modify([operation, hut(.forceDelete, "other")], in: "Trips")
        let root = try #require(try await alice.lookup(["root"], in: "Trips")[0].record)
        #expect(root.shareRecordName == nil)
        try await place.expectHealth(of: alice)
    }

    // MARK: Replaced states

    @Test func deletionRemovesAncestorsOlderThanAnOversizedOne() async throws {
        let place = StoredWorld(limits: .with { $0.ancestorBytes = 200 })
        let alice = try await place.world.person("alice")
        for length in [1, 500, 2, 3] {
            try await alice.modify([
                hut(.forceUpdate, "hut", [text("note", String(repeating: "x", count: length))])
            ])
        }
        try await place.expectHealth(of: alice)
        try await alice.modify([hut(.forceDelete, "hut")])
        try await place.expectHealth(of: alice)
    }

    @Test func joiningKeepsNoMoreAncestorsThanASave() async throws {
        let place = StoredWorld(limits: .with { $0.ancestorChanges = 2 })
        let alice = try await place.world.person("alice")
        let link = try await sharedRoot(alice)
        for name in ["bob", "carol", "dan", "eve"] {
            #expect(try await place.world.person(name).accept(link).error == nil)
        }
        let kept = try await DerivedRows.stored(in: place.storage, at: place.database(of: alice))
        #expect(kept.ancestors.count <= 2)
        try await place.expectHealth(of: alice)
    }

    // MARK: Zones

    /// The directory has a link's target, so links of deleted zones are removed from it.
    @Test(arguments: [false, true])
    func zoneDeletionRemovesItsLinks(_ isByOperator: Bool) async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        let link = try await sharedRoot(alice)
        #expect(try await place.storage.directory.shortGUID(link) != nil)
        if isByOperator {
            try await place.world.service.removeZone(
                named: "Trips", of: alice.name, at: place.world.address, reason: .purged)
        } else {
            try await alice.deleteZone("Trips")
        }
        #expect(try await place.storage.directory.shortGUID(link) == nil)
        try await place.expectHealth(of: alice)
    }
}

private func validated(_ target: String) -> Field {
    Field(name: "guide", value: reference(target, .validate))
}
