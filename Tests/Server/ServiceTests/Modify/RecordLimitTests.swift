import StratusRecords
import StratusService
import StratusWire
import Testing

/// Invalid names and types, sizes and batches beyond the limits: all are refused.
@Suite struct RecordLimitTests {
    let world = World()

    @Test(arguments: ["_secret", "", "hütte", String(repeating: "x", count: 256)])
    func invalidRecordNameIsRefused(_ name: String) async throws {
        let alice = try await world.person("alice")
        #expect(try await alice.modify([hut(.create, name)])[0].code == .badRequest)
    }

    @Test(arguments: ["1Hut", "Hut!", "", "Users", "cloudkit.share", "_Hut"])
    func invalidRecordTypeIsRefused(_ type: String) async throws {
        let alice = try await world.person("alice")
        #expect(try await alice.modify([hut(.create, "hut", type: type)])[0].code == .badRequest)
    }

    @Test func tooLargeRecordIsRefusedAndOthersAreSaved() async throws {
        let alice = try await world.person("alice")
        let large = String(repeating: "x", count: 1_100_000)
        let results = try await alice.modify([
            hut(.create, "small", [beds(1)]), hut(.create, "large", [text("note", large)]),
        ])
        #expect(results[0].record != nil)
        #expect(results[1].failed?.error.frameworkCode == .limitExceeded)
    }

    /// If it were stored, neither the record nor a query of its type could be read again.
    @Test func mergeIntoTooManyFieldsIsRefused() async throws {
        let alice = try await world.person("alice")
        func fields(_ numbers: Range<Int>) -> [Field] {
            numbers.map { Field(name: "field\($0)", value: .int64(Int64($0))) }
        }
        try await alice.modify([hut(.create, "hut", fields(0..<200))])
        let results = try await alice.modify([hut(.forceUpdate, "hut", fields(200..<300))])
        #expect(results[0].failed?.error.frameworkCode == .limitExceeded)
        let kept = try await alice.lookup(["hut"], keys: ["field7", "field250"])
        #expect(kept[0].values == ["field7": .int64(7)])
    }

    @Test func mergeIntoTooLargeRecordIsRefused() async throws {
        let alice = try await world.person("alice")
        let half = String(repeating: "x", count: 600_000)
        try await alice.modify([hut(.create, "hut", [text("one", half)])])
        let result = try await alice.modify([hut(.forceUpdate, "hut", [text("two", half)])])
        #expect(result[0].failed?.error.frameworkCode == .limitExceeded)
        #expect(try await alice.lookup(["hut"])[0].values.count == 1)
    }

    @Test func recordWithTooManyFieldsIsRefused() async throws {
        let alice = try await world.person("alice")
        let fields = (0...256).map { text("field\($0)", "") }
        let result = try await alice.modify([hut(.create, "hut", fields)])
        #expect(result[0].failed?.error.frameworkCode == .limitExceeded)
    }

    @Test func batchOfTooManyOperationsIsRefused() async throws {
        let alice = try await world.person("alice")
        let operations = (0...400).map { hut(.create, "hut-\($0)") }
        let failure = await alice.refusal(RecordsModify.self, .init(operations: operations))
        #expect(failure?.error.code == .badRequest)
        #expect(failure?.error.frameworkCode == .limitExceeded)
        #expect(try await alice.lookup(["hut-0"])[0].code == .notFound)
        #expect(try await alice.modify(Array(operations.dropLast())).count == 400)
    }

    @Test func batchNamingARecordTwiceIsRefused() async throws {
        let alice = try await world.person("alice")
        let operations = [hut(.forceUpdate, "hut"), hut(.forceDelete, "hut")]
        let failure = await alice.refusal(RecordsModify.self, .init(operations: operations))
        #expect(failure?.error.code == .badRequest)
        #expect(try await alice.lookup(["hut"])[0].code == .notFound)
    }
}
