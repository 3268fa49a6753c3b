import StratusRecords
import StratusStorage
import StratusWire

extension RecordResult {
    /// A stored record as an answer has it: there, or gone.
    init(_ row: RecordRow, in zoneID: ZoneIDDictionary, keys: [String]?) throws {
        self =
            row.isDeleted
            ? .deleted(Tombstone(recordName: row.name, recordType: row.type, zoneID: zoneID))
            : .record(try RecordDictionary(row, in: zoneID, keys: keys))
    }
}

extension RecordDictionary {
    /// A stored record. Its fields are the stored bytes, unread unless only some keys are wanted.
    init(_ row: RecordRow, in zoneID: ZoneIDDictionary, keys: [String]? = nil) throws {
        let fields = RecordFields.encoded(row.payload)
        self.init(
            recordName: row.name, recordType: row.type, recordChangeTag: row.changeTag,
            fields: try keys.map { .encoded(try fields.encoded(only: $0)) } ?? fields,
            zoneID: zoneID,
            created: Stamp(
                timestampMilliseconds: row.createdMilliseconds, userRecordName: row.creator,
                deviceID: row.creatorDevice),
            modified: Stamp(
                timestampMilliseconds: row.modifiedMilliseconds, userRecordName: row.modifier,
                deviceID: row.modifierDevice),
            parentRecordName: row.parent.map { .some($0) } ?? .absent)
    }
}
