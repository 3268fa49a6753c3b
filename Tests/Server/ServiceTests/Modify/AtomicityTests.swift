import StratusRecords
import StratusService
import StratusWire
import Testing

/// All or nothing within a custom zone.
@Suite struct AtomicityTests {
    @Test(arguments: Backend.allCases)
    func oneFailureUndoesAtomicRequest(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        try await alice.modify([hut(.create, "old", [beds(1)])], in: "Trips")
        let token = try await alice.page("Trips").syncToken
        let failure = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [
                    hut(.create, "new"), hut(.update, "old", tag: "0.0000"),
                    hut(.forceDelete, "old-2"),
                ], zoneID: zone("Trips")))
        #expect(failure?.error.code == .atomicError)
        #expect(failure?.error.code.httpStatus == 400)
        #expect(failure?.records?.map(\.code) == [.atomicError, .conflict, .atomicError])
        #expect(try await alice.page("Trips", since: token).records.isEmpty)
    }

    /// A failure at the end of a chain of 400 parents fails the records one after the other, while the database waits:
    /// each record may be read only once.
    @Test(.timeLimit(.minutes(20)))
    func failingChainOfParentsIsResolvedInTime() async throws {
        let alice = try await World().person("alice")
        try await alice.modify(
            (0..<400).map { number in
                hut(.create, "r\(number)", parent: number == 0 ? .absent : .some("r\(number - 1)"))
            })
        let results = try await alice.modify(
            (0..<400).map { number in
                number == 399
                    ? hut(.delete, "r399", tag: "stale") : hut(.forceDelete, "r\(number)")
            })
        #expect(results.last?.code == .conflict)
        #expect(results.dropLast().allSatisfy { $0.code == .validatingReferenceError })
    }

    @Test func nonAtomicRequestSavesOtherRecords() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let results = try await alice.modify(
            [hut(.create, "new"), hut(.update, "gone", tag: "0.0000")], in: "Trips",
            isAtomic: false)
        #expect(results[0].record != nil)
        #expect(results[1].code == .notFound)
    }

    @Test func defaultZoneIsNeverAtomic() async throws {
        let alice = try await World().person("alice")
        let results = try await alice.modify([
            hut(.create, "new"), hut(.update, "gone", tag: "0.0000"),
        ])
        #expect(results.map(\.code) == [nil, .notFound])
    }

    @Test func failingZoneDoesNotAffectOtherZones() async throws {
        let alice = try await World().person("alice", with: "One")
        try await alice.makeZone("Two")
        let results = try await alice.modify([
            hut(.create, "a", in: "One"), hut(.update, "b", tag: "1.abcd", in: "One"),
            hut(.create, "a", in: "Two"), hut(.create, "c", in: "Nowhere"),
            hut(.create, "d"),
        ])
        #expect(results.map(\.code) == [.atomicError, .notFound, nil, .zoneNotFound, nil])
        #expect(try await alice.lookup(["a"], in: "One")[0].code == .notFound)
        #expect(try await alice.lookup(["a"], in: "Two")[0].record != nil)
    }

    @Test func missingZoneFailsEachRecord() async throws {
        let alice = try await World().person("alice")
        let results = try await alice.modify([hut(.create, "a"), hut(.create, "b")], in: "Nowhere")
        #expect(results.map(\.code) == [.zoneNotFound, .zoneNotFound])
        #expect(results[0].failed?.error.frameworkCode == .zoneNotFound)
    }

    /// A batch that is refused before the transaction leaves no record type behind.
    @Test func refusedBatchLeavesNoSchema() async throws {
        let world = World()
        let alice = try await world.person("alice", with: "Trips")
        let failure = await alice.refusal(
            of: [hut(.create, "a", [beds(1)], type: "Fine"), hut(.create, "_b", type: "Bad")],
            in: "Trips")
        #expect(failure?.records?.map(\.code) == [.atomicError, .badRequest])
        let schema = try await world.service.storage.directory.schema(of: world.address)
        #expect(schema.fields.isEmpty)
    }

    /// A batch's versions are dense and its rows are one commit: no page ends inside it.
    @Test func pageNeverEndsInsideABatch() async throws {
        let alice = try await World().person("alice", with: "Trips")
        try await alice.modify((0..<7).map { hut(.create, "a\($0)") }, in: "Trips")
        try await alice.modify((0..<5).map { hut(.create, "b\($0)") }, in: "Trips")
        let first = try await alice.page("Trips", limit: 3)
        #expect(first.records.count == 7)
        #expect(first.moreComing)
        let second = try await alice.page("Trips", since: first.syncToken, limit: 3)
        #expect(second.records.count == 5)
        #expect(!second.moreComing)
    }
}
