import StratusRecords
import StratusStorage
import StratusWire

extension RecordResult {
    /// A stored record as it appears in an answer: existing or deleted.
    ///
    /// - Parameters:
    ///   - tellsType: Whether a tombstone includes its record's type, which is an extension of
    ///     ours.
    ///   - tellsTag: Whether it includes its change tag.
    ///   - tellsCreation: Whether it includes when its record was created.
    ///   - viewer: The caller: a share shows more to its participants.
    init(
        _ row: RecordRow, in zoneID: ZoneIDDictionary, keys: [String]?, numbersAsStrings: Bool,
        tellsType: Bool, tellsTag: Bool = false, tellsCreation: Bool = false,
        viewer: RecordViewer
    ) throws {
        self =
            row.isDeleted
            ? .deleted(
                Tombstone(
                    recordName: row.name, recordType: tellsType ? row.type : nil, zoneID: zoneID,
                    recordChangeTag: tellsTag ? row.changeTag : nil,
                    createdTimestamp: tellsCreation ? row.createdMilliseconds : nil))
            : .record(
                try RecordDictionary(
                    row, in: zoneID, keys: keys, numbersAsStrings: numbersAsStrings,
                    viewer: viewer))
    }
}

extension RecordDictionary {
    /// A stored record. Its fields are the stored bytes, which are parsed only if some keys are
    /// wanted or numbers in another form.
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
        // Sharing data that a later version wrote is not shown; the fields are.
        if !row.sharing.isEmpty, let sharing = try? RecordSharing(row) {
            show(sharing, to: viewer)
        }
    }
}

extension [RecordResult] {
    /// The stored size of the records in bytes.
    var storedBytes: Int {
        reduce(0) { bytes, result in
            guard case .record(let record) = result else { return bytes }
            return bytes + record.storedBytes
        }
    }
}

extension RecordDictionary {
    /// The stored size of the record in bytes.
    var storedBytes: Int {
        if case .encoded(let payload) = fields { payload.count } else { 0 }
    }
}
