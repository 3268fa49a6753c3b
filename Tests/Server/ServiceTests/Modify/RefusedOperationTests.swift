import StratusRecords
import StratusService
import StratusWire
import Testing

/// Operations that fail on their own, before they are tried.
@Suite struct RefusedOperationTests {
    /// An error in one record does not affect the others.
    @Test func illFormedValueFailsItsRecordOnly() async throws {
        let alice = try await World().person("alice")
        let request: RecordsModify.Request = try readWire(
            from: Array(
                """
                {"operations": [
                 {"operationType": "create", "record": {"recordName": "bad", "recordType": "Hut",
                  "fields": {"beds": {"value": "many", "type": "INT64"}}}},
                 {"operationType": "create", "record": {"recordName": "worse", "recordType": "Hut",
                  "fields": {"beds": {"value": 1, "type": "NUMBER"}}}},
                 {"operationType": "create", "record": {"recordName": "good", "recordType": "Hut",
                  "fields": {"beds": {"value": 3, "type": "INT64"}}}}]}
                """.utf8))
        let results = try await alice.ask(RecordsModify.self, request).records
        #expect(results.map(\.code) == [.badRequest, .badRequest, nil])
        #expect(results.map { $0.failed?.recordName } == ["bad", "worse", nil])
        let error = results[0].failed?.error
        #expect(error?.frameworkCode == .invalidArguments)
        #expect(
            error?.reason
                == "Invalid value, expected type INT64. (at fields.beds.value)")
        #expect(results[2].values["beds"] == .int64(3))
    }

    /// If the client lets the service choose the name, the error names the record that failed.
    @Test func failedNamelessCreateNamesItsRecord() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let refused = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.create, nil, [text("not a name", "x")]), hut(.create, nil)],
                zoneID: zone("Trips")))
        let names = refused?.records?.compactMap { $0.failed?.recordName } ?? []
        #expect(names.count == 2)
        #expect(Set(names).count == 2)
        let nowhere = try await alice.modify([hut(.create, nil)], in: "Nowhere")[0]
        #expect(nowhere.code == .zoneNotFound)
        #expect(nowhere.failed?.recordName?.isEmpty == false)
    }
}
