import StratusRecords
import StratusWire

extension ServiceConformance {
    /// Several records in one request.
    static let batches: [Case] = [
        Case("results come in the order of the request") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let names = (0..<50).map { "hut-\(($0 * 7) % 50)" }
            let saved = try await alice.modify(names.map { .saving($0) })
            try expect(saved.map(\.name), equals: names)
            let found = try await alice.lookup(names.reversed() + ["nothing"])
            try expect(found.map(\.name), equals: names.reversed() + ["nothing"])
        },
        Case("in an atomic zone one failure undoes the request") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("taken")
            let failure = try await expectRefusal(.atomicError) {
                try await alice.modify([.saving("new"), .saving("taken"), .saving("newer")])
            }
            try expect(
                failure.records?.map(\.code), equals: [.atomicError, .conflict, .atomicError])
            try expect(
                try await alice.lookup(["new", "newer"]).map(\.code),
                equals: [.notFound, .notFound])
        },
        Case("without atomicity the other records are saved") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("taken")
            let results = try await alice.modify(
                [.saving("new"), .saving("taken")], isAtomic: false)
            try expect(results.map(\.code), equals: [nil, .conflict])
            _ = try await alice.lookup(["new"])[0].asRecord()
        },
        Case("the default zone is never atomic") { stage in
            let alice = try await stage.person("alice")
            try await alice.save("taken", in: nil)
            let results = try await alice.modify([.saving("new"), .saving("taken")], in: nil)
            try expect(results.map(\.code), equals: [nil, .conflict])
        },
        Case("one record in two operations is refused") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await expectRefusal(.badRequest) {
                try await alice.modify([.saving("hut"), .deleting("hut")])
            }
            try expect(try await alice.lookup(["hut"])[0].code, equals: .notFound)
        },
        Case("too many operations are refused as a whole") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let failure = try await expectRefusal(.badRequest) {
                try await alice.modify((0...400).map { .saving("hut-\($0)") })
            }
            try expect(failure.error.frameworkCode, equals: .limitExceeded)
            try expect(try await alice.changes().records, equals: [])
        },
        Case("a record that is too large fails alone") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let large = Field(name: "a", value: .string(String(repeating: "x", count: 1_100_000)))
            let results = try await alice.modify(
                [.saving("large", [large]), .saving("small")], isAtomic: false)
            try expect(results.map(\.code), equals: [.badRequest, nil])
        },
    ]

    /// Records that refer to each other.
    static let references: [Case] = [
        Case("a parent must exist or be saved in the same request") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let orphan = try await alice.modify(
                [.saving("child", parent: "root")], isAtomic: false)
            try expect(orphan[0].code, equals: .validatingReferenceError)
            let both = try await alice.modify([.saving("child", parent: "root"), .saving("root")])
            try expect(both.map(\.code), equals: [nil, nil])
        },
        Case("a parent is deleted with its children or not at all") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.modify([.saving("root"), .saving("child", parent: "root")])
            let alone = try await alice.modify([.deleting("root")], isAtomic: false)
            try expect(alone[0].code, equals: .validatingReferenceError)
            let both = try await alice.modify([.deleting("root"), .deleting("child")])
            try expect(both.map(\.code), equals: [nil, nil])
        },
        Case("a child's save keeps its parent's change tag") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let root = try await alice.save("root")
            try await alice.save("child", parent: "root")
            try await alice.save("root", kind: .update, tag: root.recordChangeTag)
        },
        Case("a deleted target deletes its referrers, at any depth and in cycles") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            func pointing(at name: String) -> [Field] {
                [
                    Field(
                        name: "to",
                        value: .reference(Reference(recordName: name, action: .deleteSelf)))
                ]
            }
            try await alice.modify([
                .saving("a", pointing(at: "c")), .saving("b", pointing(at: "a")),
                .saving("c", pointing(at: "b")), .saving("d", pointing(at: "c")),
                .saving("stays"),
            ])
            let token = try await alice.changes().syncToken
            let results = try await alice.modify([.deleting("a")])
            try expect(results.map(\.name), equals: ["a"])
            try expect(
                try await alice.lookup(["a", "b", "c", "d", "stays"]).map(\.code),
                equals: [.notFound, .notFound, .notFound, .notFound, nil])
            let changes = try await alice.changes(since: token).records
            try expect(
                Set(changes.map { try $0.asTombstone().recordName }), equals: ["a", "b", "c", "d"])
        },
        Case("a new DELETE_SELF target must exist or be saved in the same request") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let field = try await refusedReference(.deleteSelf, by: alice)
            let both = try await alice.modify([.saving("holder", [field]), .saving("target")])
            try expect(both.map(\.code), equals: [nil, nil])
        },
        Case("a validated target must exist and cannot be deleted while it is referred to") {
            stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let field = try await refusedReference(.validate, by: alice)
            try await alice.modify([.saving("target"), .saving("holder", [field])])
            let late = try await alice.modify([.deleting("target")], isAtomic: false)
            try expect(late[0].code, equals: .validatingReferenceError)
            try await alice.modify([.deleting("holder")])
            try await alice.modify([.deleting("target")])
            try expect(try await alice.lookup(["target"])[0].code, equals: .notFound)
        },
    ]

    /// A field that refers to the record "target", which the service refuses while that is not
    /// there.
    private static func refusedReference(
        _ action: Reference.Action, by person: StagePerson
    ) async throws -> Field {
        let field = Field(
            name: "to", value: .reference(Reference(recordName: "target", action: action)))
        let early = try await person.modify([.saving("holder", [field])], isAtomic: false)
        try expect(early[0].code, equals: .validatingReferenceError)
        return field
    }
}
