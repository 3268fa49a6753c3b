import StratusRecords
import StratusService
import StratusWire
import Testing

/// Fetching records by name.
@Suite struct LookupTests {
    @Test func lookupKeepsRequestOrderAndDuplicates() async throws {
        let alice = try await World().person("alice")
        try await alice.modify([hut(.create, "a"), hut(.create, "b"), hut(.create, "gone")])
        try await alice.modify([hut(.forceDelete, "gone")])
        let found = try await alice.lookup(["b", "nope", "a", "b", "gone"])
        #expect(found.map(\.name) == ["b", "nope", "a", "b", "gone"])
        #expect(found.map(\.code) == [nil, .notFound, nil, nil, .notFound])
        #expect(found[1].failed?.error.frameworkCode == .unknownItem)
    }

    @Test func lookupItemOverridesZoneAndDesiredKeys() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let fields = [beds(1), text("name", "x")]
        try await alice.modify([
            hut(.create, "a", fields), hut(.create, "a", fields, in: "Trips"),
        ])
        let found = try await alice.ask(
            RecordsLookup.self,
            .init(
                records: [
                    .init(recordName: "a"), .init(recordName: "a", zoneID: zone("Trips")),
                    .init(recordName: "a", desiredKeys: []),
                    .init(recordName: "a", zoneID: zone("Nowhere")),
                ], desiredKeys: ["beds"])
        ).records
        #expect(found[0].values == ["beds": .int64(1)])
        #expect(found[1].record?.zoneID?.zoneName == "Trips")
        #expect(found[2].values.isEmpty)
        #expect(found[3].code == .zoneNotFound)
    }

    /// For clients whose language has no 64-bit integers.
    @Test func numbersAsStringsAppliesToEveryEndpoint() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let saved = try await alice.ask(
            RecordsModify.self,
            .init(
                operations: [hut(.create, "a", [beds(9_007_199_254_740_993)])],
                zoneID: zone("Trips"), numbersAsStrings: true)
        ).records
        let found = try await alice.ask(
            RecordsLookup.self,
            .init(
                records: [.init(recordName: "a")], zoneID: zone("Trips"), numbersAsStrings: true)
        ).records
        let queried = try await alice.ask(
            RecordsQuery.self,
            .init(
                query: QueryDictionary(recordType: "Hut"), zoneID: zone("Trips"),
                numbersAsStrings: true)
        ).records
        let changes = try await alice.ask(
            ChangesZone.self,
            .init(zones: [.init(zoneID: zone("Trips"), numbersAsStrings: true)])
        ).items
        for answer in [
            wireBytes(of: RecordsLookup.Answer(records: saved)),
            wireBytes(of: RecordsLookup.Answer(records: found)),
            wireBytes(of: RecordsLookup.Answer(records: queried)),
            wireBytes(of: ChangesZone.Answer(changes)),
        ] {
            let text = String(decoding: answer, as: UTF8.self)
            #expect(text.contains(#""value":"9007199254740993""#), "\(text)")
        }
    }

    @Test func lookupOfTooManyRecordsIsRefused() async throws {
        let alice = try await World().person("alice")
        let failure = await alice.refusal(
            RecordsLookup.self,
            .init(records: (0...400).map { .init(recordName: "r\($0)") }))
        #expect(failure?.error.frameworkCode == .limitExceeded)
    }

    @Test func sharedDatabaseHasNoZonesWithoutShares() async throws {
        let alice = try await World().person("alice")
        #expect(try await alice.lookup(["a"], scope: .shared)[0].code == .zoneNotFound)
        let saved = try await alice.modify([hut(.create, "a")], scope: .shared)
        #expect(saved[0].code == .zoneNotFound)
    }
}
