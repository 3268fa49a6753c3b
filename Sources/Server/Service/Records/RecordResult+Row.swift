import StratusRecords
import StratusStorage
import StratusWire

extension RecordResult {
    /// A stored record as an answer has it: there, or gone.
    ///
    /// - Parameters:
    ///   - tellsType: Whether a tombstone says its record's type, which is ours alone.
    ///   - tellsTag: The same of a tombstone's change tag.
    ///   - viewer: Who asks: a share says more to its participants.
    init(
        _ row: RecordRow, in zoneID: ZoneIDDictionary, keys: [String]?, numbersAsStrings: Bool,
        tellsType: Bool, tellsTag: Bool = false, viewer: RecordViewer
    ) throws {
        self =
            row.isDeleted
            ? .deleted(
                Tombstone(
                    recordName: row.name, recordType: tellsType ? row.type : nil, zoneID: zoneID,
                    recordChangeTag: tellsTag ? row.changeTag : nil))
            : .record(
                try RecordDictionary(
                    row, in: zoneID, keys: keys, numbersAsStrings: numbersAsStrings,
                    viewer: viewer))
    }
}

extension RecordDictionary {
    /// A stored record. Its fields are the stored bytes, unread unless only some keys are wanted or
    /// numbers in another form.
    init(
        _ row: RecordRow, in zoneID: ZoneIDDictionary, keys: [String]?, numbersAsStrings: Bool,
        viewer: RecordViewer
    ) throws {
        self.init(row, in: zoneID, viewer: viewer)
        fields = .encoded(
            try fields.encoded(only: keys, numbersAsStrings: numbersAsStrings))
    }

    init(_ row: RecordRow, in zoneID: ZoneIDDictionary, viewer: RecordViewer) {
        self.init(
            recordName: row.name, recordType: row.type, recordChangeTag: row.changeTag,
            fields: viewer.fields(of: row.payload),
            zoneID: zoneID,
            created: Stamp(
                timestampMilliseconds: row.createdMilliseconds,
                userRecordName: viewer.name(of: row.creator),
                deviceID: row.creatorDevice),
            modified: Stamp(
                timestampMilliseconds: row.modifiedMilliseconds,
                userRecordName: viewer.name(of: row.modifier),
                deviceID: row.modifierDevice),
            parentRecordName: row.parent.map { .some($0) } ?? .absent)
        // What a later version wrote of sharing is not shown; the fields are all the same.
        if !row.sharing.isEmpty, let sharing = try? RecordSharing(row) {
            show(sharing, to: viewer)
        }
    }
}
