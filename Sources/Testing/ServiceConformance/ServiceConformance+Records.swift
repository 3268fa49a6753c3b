import StratusRecords
import StratusWire

extension ServiceConformance {
    /// One record at a time: kinds of operations, change tags, types.
    static let records: [Case] = [
        Case("a created record is returned as it was sent") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let place = Location(latitude: 47.25, longitude: 11.5, altitude: 2_100)
            let fields = [
                Field(name: "name", value: .string("Höhenweg e\u{301} 😀")),
                Field(name: "beds", value: .int64(.max)),
                Field(name: "height", value: .double(-0.1)),
                Field(name: "at", value: .timestamp(milliseconds: -1)),
                Field(name: "key", value: .bytes([0, 255])),
                Field(name: "place", value: .location(place)),
                Field(name: "names", value: .stringList(["b", "a", "b"])),
                Field(name: "years", value: .int64List([.min, 0])),
                Field(name: "lengths", value: .doubleList([1, 2.5])),
                Field(name: "times", value: .timestampList(milliseconds: [0, 5])),
                Field(name: "keys", value: .bytesList([[1], []])),
                Field(name: "places", value: .locationList([place, place])),
            ]
            let saved = try await alice.save("hut", fields, kind: .create)
            let found = try await alice.lookup(["hut"])[0].asRecord()
            for field in fields {
                try expect(try saved[field: field.name], equals: field.value)
                try expect(try found[field: field.name], equals: field.value)
            }
            try expect(found.recordChangeTag, equals: saved.recordChangeTag)
        },
        Case("a record without a name gets one") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let name = try await alice.modify([.saving(nil)])[0].asRecord().recordName
            try expect(try await alice.lookup([name ?? ""])[0].name, equals: name)
        },
        Case("create of an existing name is a conflict") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("hut", [text("name", "first")])
            let results = try await alice.modify(
                [.saving("hut", [text("name", "second")])], isAtomic: false)
            try expect(results[0].code, equals: .conflict)
            let found = try await alice.lookup(["hut"])[0].asRecord()
            try expect(try found[field: "name"], equals: .string("first"))
        },
        Case("update with the current tag changes only what is sent") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let first = try await alice.save(
                "hut", [text("a", "1"), text("b", "1"), text("c", "1")])
            let second = try await alice.save(
                "hut", [text("a", "2"), text("b", nil)], kind: .update, tag: first.recordChangeTag)
            try expect(try second[field: "a"], equals: .string("2"))
            try expect(try second[field: "b"], equals: nil)
            try expect(try second[field: "c"], equals: .string("1"))
            try expect(second.recordChangeTag == first.recordChangeTag, equals: false)
        },
        Case("update with a stale tag is a conflict that changes nothing") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let first = try await alice.save("hut", [text("a", "1")])
            try await alice.save("hut", [text("a", "2")])
            let results = try await alice.modify(
                [.saving("hut", [text("a", "3")], kind: .update, tag: first.recordChangeTag)],
                isAtomic: false)
            let failure = try results[0].asFailure()
            try expect(failure.error.code, equals: .conflict)
            try expect(try failure.serverRecord?[field: "a"], equals: .string("2"))
            let found = try await alice.lookup(["hut"])[0].asRecord()
            try expect(try found[field: "a"], equals: .string("2"))
        },
        Case("update of a missing record is refused") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let results = try await alice.modify(
                [.saving("hut", kind: .update, tag: "1.aaaa")], isAtomic: false)
            try expect(results[0].code, equals: .notFound)
        },
        Case("replace clears what is not sent") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let first = try await alice.save("hut", [text("a", "1"), text("b", "1")])
            let second = try await alice.save(
                "hut", [text("a", "2")], kind: .replace, tag: first.recordChangeTag)
            try expect(try second[field: "b"], equals: nil)
        },
        Case("forced kinds need no tag and insert missing records") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            for kind in [RecordsModify.Kind.forceUpdate, .forceReplace] {
                let name = kind.rawValue
                try await alice.save(name, [text("a", "1")], kind: kind)
                let second = try await alice.save(name, [text("a", "2")], kind: kind)
                try expect(try second[field: "a"], equals: .string("2"))
            }
        },
        Case("a deleted record is gone and its name is free") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let first = try await alice.save("hut", [text("a", "1")])
            let gone = try await alice.modify([.deleting("hut", tag: first.recordChangeTag)])
            try expect(try gone[0].asTombstone().recordName, equals: "hut")
            try expect(try await alice.lookup(["hut"])[0].code, equals: .notFound)
            let again = try await alice.save("hut", [], kind: .create)
            try expect(try again[field: "a"], equals: nil)
            // The tag from before the deletion does not match a later record.
            let stale = try await alice.modify(
                [.saving("hut", kind: .update, tag: first.recordChangeTag)], isAtomic: false)
            try expect(stale[0].code, equals: .conflict)
        },
        Case("delete with a stale tag deletes nothing") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let first = try await alice.save("hut", [text("a", "1")])
            try await alice.save("hut", [text("a", "2")])
            let results = try await alice.modify(
                [.deleting("hut", tag: first.recordChangeTag)], isAtomic: false)
            try expect(results[0].code, equals: .conflict)
            _ = try await alice.lookup(["hut"])[0].asRecord()
        },
        Case("a field keeps its type") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("hut", [Field(name: "number", value: .int64(1))])
            let results = try await alice.modify(
                [.saving("other", [text("number", "one")])], isAtomic: false)
            try expect(results[0].code, equals: .badRequest)
        },
    ]
}
