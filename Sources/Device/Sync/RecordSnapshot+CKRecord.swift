import StratusClient
import StratusRecords

extension RecordSnapshot {
    /// Takes a record as it is, its changes included.
    ///
    /// - Throws: `CKError.invalidArguments` when a field holds what no field can hold.
    public init(_ record: CKRecord) throws {
        self.init(
            id: RecordID(record.recordID), type: record.recordType, content: try record.content())
    }

    package init(id: RecordID, type: String, content: RecordContent) {
        let system = content.changeTag.map { tag in
            SystemFields(
                changeTag: tag, createdMilliseconds: content.created?.timestampMilliseconds,
                creatorRecordName: content.created?.userRecordName,
                modifiedMilliseconds: content.modified?.timestampMilliseconds,
                modifierRecordName: content.modified?.userRecordName,
                shareRecordName: content.shareRecordName, sharing: content.sharing)
        }
        self.init(
            id: id, type: type, system: system, parentRecordName: content.parentRecordName,
            fields: content.fields)
    }

    /// The snapshot as a record of the framework, without changes; a share is a `CKShare`.
    public func record() throws -> CKRecord {
        try CKRecord.made(recordType: type, recordID: CKRecord.ID(id), content: content)
    }

    /// The snapshot as a record whose changes are those since the base: what a save sends.
    package func record(changedSince base: RecordSnapshot?) throws -> CKRecord {
        try CKRecord.made(
            recordType: type, recordID: CKRecord.ID(id), content: base?.content ?? RecordContent(),
            edited: content)
    }

    private var content: RecordContent {
        RecordContent(
            changeTag: system?.changeTag,
            created: system?.createdMilliseconds.map {
                .init(
                    timestampMilliseconds: $0, userRecordName: system?.creatorRecordName ?? "",
                    deviceID: "")
            },
            modified: system?.modifiedMilliseconds.map {
                .init(
                    timestampMilliseconds: $0, userRecordName: system?.modifierRecordName ?? "",
                    deviceID: "")
            },
            shareRecordName: system?.shareRecordName, parentRecordName: parentRecordName,
            sharing: system?.sharing, fields: fields)
    }
}

extension SyncConflict {
    /// The record as both sides last agreed on it; nil when both created it.
    public func ancestorRecord() throws -> CKRecord? { try ancestor?.record() }
    /// The record as this device has it.
    public func clientRecord() throws -> CKRecord { try client.record() }
    /// The record as the service has it: merge into this one.
    public func serverRecord() throws -> CKRecord { try server.record() }
}

extension ConflictResolution {
    /// The fields of this record are sent, on the service's change tag.
    public static func save(_ record: CKRecord) throws -> ConflictResolution {
        .save(fields: try RecordSnapshot(record).fields)
    }
}

extension RecordID {
    public init(_ id: CKRecord.ID) {
        self.init(name: id.recordName, zoneID: ZoneID(id.zoneID))
    }
}

extension ZoneID {
    public init(_ id: CKRecordZone.ID) {
        self.init(name: id.zoneName, ownerName: id.ownerName)
    }
}

extension CKRecordID {
    public convenience init(_ id: RecordID) {
        self.init(known: id.name, zoneID: CKRecordZoneID(id.zoneID))
    }
}

extension CKRecordZoneID {
    public convenience init(_ id: ZoneID) {
        self.init(known: id.name, ownerName: id.ownerName)
    }
}

extension SyncFailure {
    /// Takes an error of the framework; whatever is no `CKError` counts as an internal error.
    public init(_ error: any Error) {
        guard let error = error as? CKError else {
            self.init(.internalError, message: "\(error)")
            return
        }
        self.init(
            error.code, retryAfterSeconds: error.retryAfterSeconds,
            message: error.localizedDescription)
    }
}
