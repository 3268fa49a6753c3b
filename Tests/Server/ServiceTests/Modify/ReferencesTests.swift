import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// References with an action: DELETE_SELF and its cascades, VALIDATE, and parents.
@Suite struct ReferencesTests {
    let world = World()

    // MARK: DELETE_SELF

    @Test(arguments: Backend.allCases)
    func cascadeOfAnyDepthLeavesTombstonesInFeed(
        _ backend: Backend
    ) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        try await alice.modify([hut(.create, "r0"), hut(.create, "other")], in: "Trips")
        for number in 1..<40 {
            try await alice.modify(
                [hut(.create, "r\(number)", [owner("r\(number - 1)")])], in: "Trips")
        }
        let token = try await alice.page("Trips").syncToken
        let results = try await alice.modify([hut(.forceDelete, "r0")], in: "Trips")
        #expect(results.map(\.tombstone?.recordName) == ["r0"])
        let page = try await alice.at("tablet").page("Trips", since: token)
        #expect(
            page.records.compactMap(\.tombstone?.recordName) == (0..<40).map { "r\($0)" })
        #expect(
            page.records.compactMap(\.tombstone?.recordType) == Array(repeating: "Hut", count: 40))
        #expect(try await alice.lookup(["other"], in: "Trips")[0].record != nil)
        // The references were removed too: a new record of the same name refers to nothing.
        try await alice.modify([hut(.create, "r1"), hut(.create, "r0")], in: "Trips")
        try await alice.modify([hut(.forceDelete, "r0")], in: "Trips")
        #expect(try await alice.lookup(["r1"], in: "Trips")[0].record != nil)
    }

    @Test(arguments: Backend.allCases)
    func cascadeFollowsCyclesAndLists(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice")
        try await alice.modify([
            hut(.create, "a", [owner("c")]), hut(.create, "b", [owner("a")]),
            hut(.create, "c", [owner("b")]), hut(.create, "self", [owner("self")]),
            hut(.create, "listed", [owners(["x", "a", "a"])]), hut(.create, "loose", [loose("a")]),
            hut(.create, "x"),
        ])
        let results = try await alice.modify([
            hut(.forceDelete, "b"), hut(.forceDelete, "self"),
        ])
        #expect(results.allSatisfy { $0.tombstone != nil })
        let left = try await alice.lookup(["a", "b", "c", "self", "listed", "loose"])
        #expect(left.map(\.code) == [.notFound, .notFound, .notFound, .notFound, .notFound, nil])
    }

    @Test func retargetedRecordSurvivesCascade() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify(
            [
                hut(.create, "a"), hut(.create, "b"), hut(.create, "moved", [owner("a")]),
                hut(.create, "freed", [owner("a")]), hut(.create, "touched", [owner("a")]),
            ], in: "Trips")
        let results = try await alice.modify(
            [
                hut(.forceDelete, "a"), hut(.forceUpdate, "moved", [owner("b")]),
                hut(.forceUpdate, "freed", [Field(name: "owner", value: nil)]),
                hut(.forceUpdate, "touched", [beds(1)]),
            ], in: "Trips")
        #expect(results.allSatisfy { $0.failed == nil })
        let left = try await alice.lookup(["a", "moved", "freed", "touched"], in: "Trips")
        #expect(left.map(\.code) == [.notFound, nil, nil, .notFound])
        try await alice.modify([hut(.forceDelete, "b")], in: "Trips")
        let last = try await alice.lookup(["moved", "freed"], in: "Trips")
        #expect(last.map(\.code) == [.notFound, nil])
    }

    /// As in CloudKit's header: the target exists, or is saved in the same request.
    @Test(arguments: Backend.allCases)
    func deleteSelfTargetMustExistOrBeInTheBatch(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice")
        let alone = try await alice.modify([
            hut(.create, "a", [owner("later")]), hut(.create, "c", [owners(["later", "b"])]),
            hut(.create, "d", [owner("a")]), hut(.create, "b"), hut(.forceDelete, "later"),
        ])
        // A record is refused if it refers to a refused one.
        #expect(
            alone.map { $0.failed?.error.frameworkCode } == [
                .referenceViolation, .referenceViolation, .referenceViolation, nil, nil,
            ])
        #expect(alone[0].code == .validatingReferenceError)
        let together = try await alice.modify([
            hut(.create, "a", [owner("later")]), hut(.create, "self", [owner("self")]),
            hut(.create, "later"), hut(.create, "c", [owner("b")]),
        ])
        #expect(together.allSatisfy { $0.failed == nil })
        try await alice.modify([hut(.forceDelete, "later")])
        #expect(try await alice.lookup(["a"])[0].code == .notFound)
        let moved = try await alice.modify([hut(.forceUpdate, "c", [owner("later")])])
        #expect(moved[0].code == .validatingReferenceError)
    }

    @Test func referencesPerTargetAreLimited() async throws {
        let alice = try await World.alice { $0.sourcesPerTarget = 3 }
        #expect(Limits().sourcesPerTarget == 750)
        try await alice.modify([hut(.create, "a"), hut(.create, "b")])
        let results = try await alice.modify(
            (0..<5).map { hut(.create, "s\($0)", [owners(["a", "b"])]) })
        #expect(
            results.map { $0.failed?.error.frameworkCode } == [
                nil, nil, nil, .limitExceeded, .limitExceeded,
            ])
        // An existing source may be saved, and a deleted one makes room for another.
        let again = try await alice.modify([
            hut(.forceUpdate, "s0", [beds(1)]), hut(.forceUpdate, "s1", [owner("a")]),
            hut(.forceDelete, "s2"), hut(.create, "s3", [owner("a")]),
            hut(.create, "s4", [owner("a")]), hut(.create, "free", [loose("a")]),
        ])
        #expect(
            again.map { $0.failed?.error.frameworkCode } == [
                nil, nil, nil, nil, .limitExceeded, nil,
            ])
    }

    @Test func tooLargeCascadeRefusesItsRootOnly() async throws {
        let alice = try await World.alice {
            $0.recordsPerCascade = 3
            $0.recordsPerLongCascade = 3
        }
        try await alice.modify([hut(.create, "small"), hut(.create, "large")])
        try await alice.modify(
            (0..<4).map { hut(.create, "l\($0)", [owner("large")]) }
                + (0..<2).map { hut(.create, "s\($0)", [owner("small")]) })
        let results = try await alice.modify([
            hut(.forceDelete, "large"), hut(.forceDelete, "small"),
        ])
        #expect(results[0].failed?.error.frameworkCode == .limitExceeded)
        #expect(results[1].tombstone != nil)
        #expect(
            try await alice.lookup(["large", "l0", "s0"]).map(\.code) == [nil, nil, .notFound])
        // Records named in the request do not count.
        let named = try await alice.modify([
            hut(.forceDelete, "large"), hut(.forceDelete, "l3"),
        ])
        #expect(named.allSatisfy { $0.tombstone != nil })
        #expect(try await alice.lookup(["l0"])[0].code == .notFound)
    }

    /// A page does not end inside a request, and a cascade is read and written in steps.
    @Test(arguments: Backend.allCases)
    func largeCascadeArrivesInOnePage(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        try await alice.modify([hut(.create, "root")], in: "Trips")
        for half in 0..<2 {
            try await alice.modify(
                (0..<350).map { hut(.create, "h\(half).\($0)", [owner("root")]) }, in: "Trips")
        }
        let token = try await alice.page("Trips", limit: 2_000).syncToken
        try await alice.modify([hut(.forceDelete, "root")], in: "Trips")
        let page = try await alice.page("Trips", since: token, limit: 1)
        #expect(page.records.count == 701)
        #expect(!page.moreComing)
    }

    // MARK: VALIDATE

    @Test(arguments: Backend.allCases)
    func validatedTargetCannotBeDeletedWhileReferenced(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice")
        try await alice.modify([hut(.create, "guide"), hut(.create, "tour", [guide("guide")])])
        let refused = try await alice.modify([hut(.forceDelete, "guide")])
        #expect(refused[0].code == .validatingReferenceError)
        #expect(refused[0].code?.httpStatus == 412)
        #expect(refused[0].failed?.error.frameworkCode == .referenceViolation)
        let both = try await alice.modify([hut(.forceDelete, "guide"), hut(.forceDelete, "tour")])
        #expect(both.allSatisfy { $0.tombstone != nil })
        try await alice.modify([hut(.create, "guide"), hut(.create, "tour", [guide("guide")])])
        let freed = try await alice.modify([
            hut(.forceDelete, "guide"), hut(.forceReplace, "tour", [beds(1)]),
        ])
        #expect(freed.allSatisfy { $0.failed == nil })
    }

    @Test func validatingCycleIsDeletedTogether() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a", [guide("b")]), hut(.create, "b", [guide("a")])])
        #expect(try await alice.modify([hut(.forceDelete, "a")])[0].code != nil)
        let both = try await alice.modify([hut(.forceDelete, "a"), hut(.forceDelete, "b")])
        #expect(both.allSatisfy { $0.tombstone != nil })
    }

    /// If another record refers to a member of the cascade, nothing of the cascade is deleted.
    @Test func cascadeIsRefusedWhileMemberIsReferenced() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify(
            [
                hut(.create, "list"), hut(.create, "item", [owner("list")]),
                hut(.create, "watcher", [guide("item")]), hut(.create, "free"),
            ], in: "Trips")
        let failure = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.forceDelete, "list"), hut(.forceDelete, "free")],
                zoneID: zone("Trips")))
        #expect(failure?.records?.map(\.code) == [.validatingReferenceError, .atomicError])
        let loose = try await alice.modify(
            [hut(.forceDelete, "list"), hut(.forceDelete, "free")], in: "Trips", isAtomic: false)
        #expect(loose.map(\.code) == [.validatingReferenceError, nil])
        #expect(
            try await alice.lookup(["list", "item"], in: "Trips").allSatisfy { $0.record != nil })
        let all = try await alice.modify(
            [hut(.forceDelete, "watcher"), hut(.forceDelete, "list")], in: "Trips")
        #expect(all.allSatisfy { $0.tombstone != nil })
        #expect(try await alice.lookup(["item"], in: "Trips")[0].code == .notFound)
    }

    /// The references of a save that fails protect no record.
    @Test func failedSaveDoesNotProtectItsTarget() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a")])
        let results = try await alice.modify([
            hut(.forceDelete, "a"),
            hut(
                .create, "b",
                [guide("a"), Field(name: "second", value: reference("no", .validate))]),
        ])
        #expect(results.map(\.code) == [nil, .validatingReferenceError])
    }

    // MARK: Parents

    @Test func cascadeDeletesChildren() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "list")])
        try await alice.modify([
            hut(.create, "item", [owner("list")], parent: .some("list")),
            hut(.create, "part", [owner("item")], parent: .some("item")),
        ])
        #expect(try await alice.modify([hut(.forceDelete, "list")])[0].tombstone != nil)
        #expect(
            try await alice.lookup(["item", "part"]).map(\.code) == [.notFound, .notFound])
        try await alice.modify([
            hut(.create, "list"), hut(.create, "item", [owner("list")]),
            hut(.create, "child", parent: .some("item")),
        ])
        let refused = try await alice.modify([hut(.forceDelete, "list")])
        #expect(refused[0].code == .validatingReferenceError)
    }

    // MARK: Limits and places

    @Test func referencesPerRecordAreLimited() async throws {
        let alice = try await World.alice { $0.referencesPerRecord = 2 }
        try await alice.modify(["x", "y", "z"].map { hut(.create, $0) })
        let results = try await alice.modify([
            hut(.create, "a", [owners(["x", "y", "z"])]), hut(.create, "b", [owners(["x", "y"])]),
        ])
        #expect(results.map { $0.failed?.error.frameworkCode } == [.limitExceeded, nil])
    }

    /// The references after the merge count, not just the sent ones.
    @Test func mergedReferencesCountTowardTheLimit() async throws {
        let alice = try await World.alice { $0.referencesPerRecord = 2 }
        try await alice.modify(["x", "y", "z"].map { hut(.create, $0) })
        try await alice.modify([hut(.create, "a", [owners(["x", "y"])])])
        let result = try await alice.modify([hut(.forceUpdate, "a", [owner("z")])])
        #expect(result[0].failed?.error.frameworkCode == .limitExceeded)
        #expect(try await alice.modify([hut(.forceUpdate, "a", [owner("x")])])[0].failed == nil)
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)])
    func referenceToInvalidRecordNameIsRefused(_ name: String) async throws {
        let alice = try await world.person("alice")
        #expect(try await alice.modify([hut(.create, "a", [loose(name)])])[0].code == .badRequest)
    }

    /// Every refusal causes the next one, each behind a cycle: that must not occupy the database for long. The last
    /// list cannot be deleted, since it has a child; so its item stays, which is a child of the list before; and so
    /// on.
    @Test(arguments: [true, false])
    func refusalChainRefusesEveryDeletion(_ hasCycles: Bool) async throws {
        let alice = try await World.alice {
            $0.recordsPerCascade = 300
            $0.recordsPerLongCascade = 300
        }
        let count = 100
        func list(_ number: Int) -> String { "list-\(number)" }
        try await alice.modify((0..<count).map { hut(.create, list($0)) })
        try await alice.modify(
            (0..<count).map { number in
                hut(
                    .create, "item-\(number)",
                    [owners([list(number)] + (hasCycles ? ["twin-\(number)"] : []))],
                    parent: number == 0 ? .absent : .some(list(number - 1)))
            } + [hut(.create, "child", parent: .some(list(count - 1)))]
                + (0..<count).map { hut(.create, "twin-\($0)", [owner("item-\($0)")]) })
        let results = try await alice.modify((0..<count).map { hut(.forceDelete, list($0)) })
        let codes = results.map { $0.failed?.error.frameworkCode }
        // Those that were refused for themselves before the limit was reached get that error.
        #expect(
            Set(codes)
                == (hasCycles ? [.limitExceeded, .referenceViolation] : [.referenceViolation]))
        let left = try await alice.lookup((0..<count).flatMap { [list($0), "item-\($0)"] })
        #expect(left.allSatisfy { $0.record != nil })
    }

    /// The references of a deleted record protect no other record.
    @Test func cascadedRecordDoesNotProtectItsTarget() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "list")])
        let results = try await alice.modify([
            hut(.forceDelete, "list"),
            hut(.create, "item", [owner("list"), guide("list")], parent: .some("list")),
        ])
        #expect(results[0].tombstone != nil)
        #expect(results[1].record != nil)
        #expect(try await alice.lookup(["item"])[0].code == .notFound)
    }

    @Test func crossZoneReferenceIsRefused() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let elsewhere = Reference(
            recordName: "a", zoneID: ZoneID(name: "Trips", ownerName: alice.name),
            action: .deleteSelf)
        let results = try await alice.modify([
            hut(.create, "b", [Field(name: "owner", value: .reference(elsewhere))])
        ])
        #expect(results[0].code == .badRequest)
    }

    @Test(arguments: Backend.allCases)
    func deletedZoneRemovesItsReferences(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice")
        for _ in 0..<2 {
            try await alice.makeZone("Trips")
            try await alice.modify(
                [hut(.create, "a"), hut(.create, "b", [owner("a"), guide("a")])], in: "Trips")
            try await alice.deleteZone("Trips")
        }
        try await alice.makeZone("Trips")
        try await alice.modify([hut(.create, "a"), hut(.create, "b")], in: "Trips")
        #expect(try await alice.modify([hut(.forceDelete, "a")], in: "Trips")[0].tombstone != nil)
        #expect(try await alice.lookup(["b"], in: "Trips")[0].record != nil)
    }

    /// Another user's record is deleted with its target: its creator asked for that with DELETE_SELF.
    @Test func publicCascadeDeletesRecordsOfOtherUsers() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await alice.modify([hut(.create, "post")], scope: .public)
        try await bob.modify([hut(.create, "comment", [owner("post")])], scope: .public)
        #expect(
            try await alice.modify([hut(.forceDelete, "post")], scope: .public)[0].tombstone != nil)
        #expect(try await bob.lookup(["comment"], scope: .public)[0].code == .notFound)
    }

    @Test func cascadeNotifiesSubscribersOfEachDeletion() async throws {
        let alice = try await world.person("alice")
        let tablet = alice.at("tablet")
        try await alice.modify([hut(.create, "a")])
        try await alice.modify([hut(.create, "b", [owner("a")], type: "Bed")])
        let token = try await tablet.listen()
        try await tablet.subscribe([
            SubscriptionDictionary(
                subscriptionID: "beds", kind: .query, query: QueryDictionary(recordType: "Bed"),
                firesOn: [.delete])
        ])
        try await alice.modify([hut(.forceDelete, "a")])
        let received = try await tablet.received(token)
        #expect(received.count == 1)
        guard case .query(let name, let reason, _, _) = received.first?.cause else { return }
        #expect(name == "b")
        #expect(reason == .recordDeleted)
    }
}

func reference(_ target: String, _ action: Reference.Action) -> FieldValue {
    .reference(Reference(recordName: target, action: action))
}

/// A field that makes its record be deleted with its owner.
func owner(_ target: String) -> Field {
    Field(name: "owner", value: reference(target, .deleteSelf))
}

func owners(_ targets: [String]) -> Field {
    Field(
        name: "owners",
        value: .referenceList(targets.map { Reference(recordName: $0, action: .deleteSelf) }))
}

/// A field whose target cannot be deleted before its record.
func guide(_ target: String) -> Field {
    Field(name: "guide", value: reference(target, .validate))
}

func loose(_ target: String) -> Field {
    Field(name: "friend", value: reference(target, .none))
}
