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

/// The edit times of fields and of list elements.
@Suite struct FieldTimesTests {
    @Test func uploadedFilesKeepTheirFieldTimes() throws {
        let rules: [String: FieldRule] = ["photos": .set]
        let key = FieldWise.defaultFieldTimesKey
        func file(_ checksum: String) -> AssetReceipt {
            AssetReceipt(fileChecksum: checksum, sizeBytes: 5)
        }
        var local = RecordSnapshot(id: RecordID(name: "a", zoneID: .list), type: "Item")
        local["photo"] = .asset(file("local:1"))
        local["photos"] = .assetList([file("local:2"), file("kept")])
        local.stampFieldTimes(in: key, over: nil, at: 5_000, rules: rules)
        var stored = local
        stored["photo"] = .asset(file("1"))
        stored["photos"] = .assetList([file("2"), file("kept")])
        #expect(FieldTimes(stored[key]).milliseconds(of: stored.field("photo"), "photo") == nil)
        stored.carryFieldTimes(in: key, from: local)
        let times = FieldTimes(stored[key])
        #expect(times.milliseconds(of: stored.field("photo"), "photo") == 5_000)
        for name in ["2", "kept"] {
            let element = ListElement(value: .asset(file(name)), occurrence: 1)
            #expect(times.milliseconds(of: element.field(of: "photos"), "") == 5_000, "\(name)")
        }
        // The time of the local value, which no other device ever saw, is removed.
        #expect(times.milliseconds(of: local.field("photo"), "photo") == nil)
    }

    /// Another participant may write any number into the field of edit times.
    @Test(arguments: [Int64.max, .min])
    func overflowingFieldTimesAreIgnored(_ time: Int64) {
        let rules: [String: FieldRule] = ["list": .sequence, "count": .editCount]
        let key = FieldWise.defaultFieldTimesKey
        var record = RecordSnapshot(id: RecordID(name: "a", zoneID: .list), type: "Item")
        record["list"] = .stringList(["a", "b"])
        record["count"] = .int64(1)
        record.stampFieldTimes(in: key, over: nil, at: 5_000, rules: rules)
        guard case .string(let text) = record[key] else { return }
        let number = String(time, radix: 36)
        let groups = text.split(separator: ";").map { group in
            group.firstIndex(of: ":").map { number + String(group[$0...]) } ?? String(group)
        }
        var old = record
        old[key] = .string(groups.joined(separator: ";"))
        var new = old
        new["list"] = .stringList(["c", "b"])
        new["count"] = .int64(2)
        new.stampFieldTimes(in: key, over: old, at: 6_000, rules: rules)
        new.shiftFieldTimes(in: key, by: 1_000, rules: rules)
        #expect(FieldTimes(old[key]) == FieldTimes())
        #expect(FieldTimes(new[key]) != FieldTimes())
    }
}

@Suite struct FieldWiseMergeTests {
    /// An upload changes the value of a file's field, and other devices would compare the uploaded value.
    @Test func unuploadedFileLosesAtEqualTimes() {
        let id = RecordID(name: "a", zoneID: .list)
        for number in 0..<20 {
            func record(_ checksum: String, _ tag: String?) -> RecordSnapshot {
                var record = RecordSnapshot(
                    id: id, type: "Item",
                    system: tag.map { .init(changeTag: $0, modifiedMilliseconds: 9_000) })
                record["photo"] = .asset(AssetReceipt(fileChecksum: checksum, sizeBytes: 5))
                record.stampFieldTimes(
                    in: FieldWise.defaultFieldTimesKey, over: nil, at: 5_000, rules: [:])
                return record
            }
            let theirs = record("checksum\(number)", "2")
            let conflict = SyncConflict(
                ancestor: nil, client: record("\(AssetReceipt.localPrefix)\(number)", nil),
                server: theirs, clientEditedMilliseconds: 5_000)
            #expect(FieldWise().resolve(conflict) == .merge(theirs))
        }
    }
}
