import StratusRecords
import Testing

@testable import StratusSync

@Suite struct PendingChangeTests {
    @Test func deduplicationKeepsLastChangePerRecord() {
        let a = RecordID(name: "a", zoneID: .list)
        let b = RecordID(name: "b", zoneID: .list)
        let merged = PendingChange.deduplicated([
            PendingChange(id: a, kind: .save), PendingChange(id: b, kind: .save),
            PendingChange(id: a, kind: .save), PendingChange(id: a, kind: .delete),
        ])
        #expect(merged.map(\.id) == [a, b])
        #expect(merged.map(\.kind) == [.delete, .save])
        #expect(merged.map(\.generation) == [3, 1])
    }
}

@Suite struct LatestEditWinsTests {
    func conflict(client: FieldValue?, server: FieldValue?) -> SyncConflict {
        let id = RecordID(name: "a", zoneID: .list)
        var mine = RecordSnapshot(id: id, type: "Item")
        mine["editedAt"] = client
        var theirs = RecordSnapshot(
            id: id, type: "Item", system: .init(changeTag: "2", modifiedMilliseconds: 1_000))
        theirs["editedAt"] = server
        return SyncConflict(
            ancestor: nil, client: mine, server: theirs, clientEditedMilliseconds: 500)
    }

    @Test func laterEditDateWins() {
        let resolver = LatestEditWins()
        let later = FieldValue.timestamp(milliseconds: 700)
        let earlier = FieldValue.timestamp(milliseconds: 600)
        #expect(resolver.resolve(conflict(client: later, server: earlier)) == .keepClient)
        #expect(resolver.resolve(conflict(client: earlier, server: later)) == .keepServer)
    }

    @Test func equalEditDatesKeepServerRecord() {
        let time = FieldValue.int64(7)
        #expect(LatestEditWins().resolve(conflict(client: time, server: time)) == .keepServer)
    }

    @Test func recordWithEditDateWinsOverRecordWithout() {
        let time = FieldValue.timestamp(milliseconds: 1)
        #expect(LatestEditWins().resolve(conflict(client: time, server: nil)) == .keepClient)
        #expect(LatestEditWins().resolve(conflict(client: nil, server: time)) == .keepServer)
        #expect(
            LatestEditWins().resolve(conflict(client: .double(.nan), server: time)) == .keepServer)
    }

    @Test func localEditTimeIsComparedWithModificationDate() {
        var both = conflict(client: nil, server: nil)
        #expect(LatestEditWins(editDateKey: nil).resolve(both) == .keepServer)
        both.clientEditedMilliseconds = 1_001
        #expect(LatestEditWins(editDateKey: nil).resolve(both) == .keepClient)
    }
}

@Suite struct RecordSnapshotTests {
    @Test func contentComparisonIgnoresFieldOrder() {
        let id = RecordID(name: "a", zoneID: .list)
        let one = RecordSnapshot(
            id: id, type: "Item",
            fields: [
                Field(name: "b", value: .int64(2)), Field(name: "a", value: .int64(1)),
                Field(name: "gone", value: nil),
            ])
        var other = RecordSnapshot(id: id, type: "Item", system: .init(changeTag: "9"))
        other["b"] = .int64(2)
        other["a"] = .int64(0)
        #expect(!one.hasSameContent(as: other))
        other["a"] = .int64(1)
        #expect(one.hasSameContent(as: other))
        other["a"] = nil
        #expect(other.fields.map(\.name) == ["b"])
    }
}
