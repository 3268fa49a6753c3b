import Foundation
import StratusRecords
import StratusWire

/// The records of one save, from draft to outcome.
struct ModifyBatch {
    let records: [CKRecord]
    private let recordIDs: [CKRecord.ID]
    private let deletionTags: [CKRecord.ID: String]
    private let isAtomic: Bool
    /// The service's address, for errors about wrong configuration.
    private let address: String?
    var drafts: [Result<CKRecord.Draft, CKError>]
    /// Zones for which nothing is sent, because one of their records cannot be.
    private var failedZones: Set<CKRecordZone.ID> = []
    /// The server's records by operation index, if the answer left them out.
    private var serverRecords: [Int: RecordDictionary] = [:]
    private(set) var operations: [RecordsModify.Operation] = []

    init(
        _ records: [CKRecord], policy: CKModifyRecordsOperation.RecordSavePolicy, isAtomic: Bool,
        deleting recordIDs: [CKRecord.ID], deletionTags: [CKRecord.ID: String] = [:],
        replacing replacedIDs: Set<CKRecord.ID> = [], address: String?
    ) {
        self.records = records
        self.recordIDs = recordIDs
        self.deletionTags = deletionTags
        let recordIDsToSave = Set(records.map(\.recordID))
        drafts = records.map { record in
            do {
                if let root = record.rootOfNewShare, !recordIDsToSave.contains(root) {
                    throw CKError(
                        .invalidArguments,
                        "The new share \(record.recordID.recordName) is saved without its root record"
                            + " \(root.recordName); save both together.")
                }
                return .success(
                    try record.draft(
                        policy: policy, replaces: replacedIDs.contains(record.recordID)))
            } catch {
                // Becomes the record's own result.
                return .failure(CKError(requestFailedWith: error))
            }
        }
        self.isAtomic = isAtomic
        self.address = address
        noteSpoiltZones()
    }

    private mutating func noteSpoiltZones() {
        guard isAtomic else { return }
        for (record, draft) in zip(records, drafts) {
            if case .failure = draft { failedZones.insert(record.recordID.zoneID) }
        }
    }

    /// Notes that a record cannot be sent.
    mutating func fail(_ index: Int, with error: CKError) {
        drafts[index] = .failure(error)
        noteSpoiltZones()
    }

    /// The fields of the batch that are encrypted.
    var encryptedFields: Set<EncryptedField> {
        var fields: Set<EncryptedField> = []
        for (record, draft) in zip(records, drafts) {
            guard case .success(let draft) = draft, !draft.openKeys.isEmpty else { continue }
            for key in draft.openKeys {
                fields.insert(EncryptedField(recordType: record.recordType, key: key))
            }
        }
        return fields
    }

    /// Fails the records that have a plain value in a field that this device encrypts. All records
    /// that an app saves pass this check.
    mutating func refusePlainValues(of keys: EncryptedKeys) {
        guard !keys.isEmpty else { return }
        for (index, record) in records.enumerated() {
            guard case .success(let draft) = drafts[index],
                let encrypted = keys[record.recordType],
                let key = draft.plainField(of: encrypted)
            else { continue }
            let field = EncryptedField(recordType: record.recordType, key: key)
            fail(index, with: .plainValue(of: field))
        }
    }

    /// Makes the operations of the records that can be sent.
    mutating func close() {
        for (record, draft) in zip(records, drafts) {
            if case .success(let draft) = draft, !isSpoilt(record.recordID) {
                operations.append(draft.complete(in: record.assetHolder))
            }
        }
        for recordID in recordIDs where !isSpoilt(recordID) {
            let tag = deletionTags[recordID]
            operations.append(
                RecordsModify.Operation(
                    tag == nil ? .forceDelete : .delete,
                    RecordDictionary(
                        recordName: recordID.recordName, recordChangeTag: tag,
                        zoneID: recordID.zoneID.dictionary)))
        }
    }

    func isSpoilt(_ recordID: CKRecord.ID) -> Bool {
        !failedZones.isEmpty && failedZones.contains(recordID.zoneID)
    }

    /// Fetches the server's records of conflicts if the answer left them out, as services other
    /// than Stratus's do.
    mutating func addServerRecords(
        to results: [RecordResult], session: DatabaseSession
    ) async throws {
        var wanted: [(operation: Int, item: RecordsLookup.Item)] = []
        for (index, result) in results.enumerated() {
            guard case .failure(let failure) = result, failure.serverRecord == nil,
                failure.error.code == .conflict || failure.error.code == .exists,
                let name = operations[index].record.recordName
            else { continue }
            let zoneID = operations[index].record.zoneID
            wanted.append((index, RecordsLookup.Item(recordName: name, zoneID: zoneID)))
        }
        guard !wanted.isEmpty else { return }
        let request = RecordsLookup.Request(records: wanted.map(\.item))
        let answer: RecordsLookup.Answer
        do {
            answer = try await session.sender.send(RecordsLookup.self, request)
        } catch CKError.operationCancelled {
            throw CKError.cancelled
        } catch {
            // The save has its outcome already; the conflict is reported without the server's
            // record.
            return
        }
        guard answer.records.count == wanted.count else { return }
        for (want, result) in zip(wanted, answer.records) {
            if case .record(let dictionary) = result {
                serverRecords[want.operation] = dictionary
            }
        }
    }

    /// Matches results to the request's items, and updates the saved records.
    ///
    /// - Returns: also whether some records are incomplete, see `DatabaseSession.complete(_:)`.
    func outcome(
        _ results: [RecordResult], session: DatabaseSession
    ) -> (RecordsModification, isIncomplete: Bool) {
        var reader = session.reader
        let matching = session.matching
        var outcome = RecordsModification()
        outcome.saves.reserveCapacity(records.count)
        var next = 0
        for (record, draft) in zip(records, drafts) {
            let result: Result<CKRecord, any Error>
            switch draft {
            case .failure(let error): result = .failure(error)
            case .success where isSpoilt(record.recordID): result = .failure(Self.spoilt)
            case .success(let draft):
                let server = serverRecords[next]
                result = Result {
                    try matching.check(results[next], record.recordID)
                    try matching.check(
                        recordName: server?.recordName, zoneID: server?.zoneID, record.recordID)
                    return try saved(record, draft, results[next], server, reader: &reader)
                }
                next += 1
            }
            outcome.saves.append((record.recordID, result))
        }
        for recordID in recordIDs {
            if isSpoilt(recordID) {
                outcome.deletions.append((recordID, .failure(Self.spoilt)))
            } else {
                let (result, server) = (results[next], serverRecords[next])
                if case .deleted(let tombstone) = result {
                    outcome.tombstoneTags[recordID] = tombstone.recordChangeTag
                }
                outcome.deletions.append(
                    (
                        recordID,
                        Result {
                            try matching.check(result, recordID)
                            try matching.check(
                                recordName: server?.recordName, zoneID: server?.zoneID, recordID)
                            try deleted(recordID, result, server, reader: &reader)
                        }
                    ))
                next += 1
            }
        }
        return (outcome, reader.isIncomplete)
    }

    private static let spoilt = CKError(
        .batchRequestFailed,
        "Another record of the same zone could not be sent, so this one was not either; see the other"
            + " one's error.")

    private func saved(
        _ record: CKRecord, _ draft: CKRecord.Draft, _ result: RecordResult,
        _ lookedUp: RecordDictionary?, reader: inout RecordReader
    ) throws -> CKRecord {
        switch result {
        case .record(let dictionary):
            try AnswerMatching.check(dictionary.recordType, record.recordType)
            record.confirm(draft, try reader.state(dictionary, in: record.recordID.zoneID))
            return record
        case .deleted:
            throw CKError(
                .internalError,
                "The service answered the save of \(record.recordID.recordName) with a deletion; fetch"
                    + " the record again.")
        case .failure(let failure):
            throw try conflict(
                failure, of: record, draft, failure.serverRecord ?? lookedUp, reader: &reader)
        }
    }

    private func conflict(
        _ failure: RecordFailure, of record: CKRecord, _ draft: CKRecord.Draft,
        _ server: RecordDictionary?, reader: inout RecordReader
    ) throws -> CKError {
        var details: [String: Any] = [:]
        if failure.error.code == .conflict || failure.error.code == .exists {
            let zoneID = record.recordID.zoneID
            details[CKRecordChangedErrorClientRecordKey] = record
            let encrypted = draft.sent.encryptedKeys
            details[CKRecordChangedErrorServerRecordKey] = try server.map {
                try reader.record($0, in: zoneID).withoutPlainValues(of: encrypted)
            }
            if let ancestor = failure.ancestorRecord {
                details[CKRecordChangedErrorAncestorRecordKey] =
                    try reader.record(ancestor, in: zoneID).withoutPlainValues(of: encrypted)
            } else if draft.sent.changeTag != nil {
                details[CKRecordChangedErrorAncestorRecordKey] = CKRecord.made(
                    recordType: record.recordType, recordID: record.recordID, state: draft.base)
            }
        }
        return CKError(
            failure.error, about: .record, uuid: failure.uuid, details: details, address: address)
    }

    private func deleted(
        _ recordID: CKRecord.ID, _ result: RecordResult, _ lookedUp: RecordDictionary?,
        reader: inout RecordReader
    ) throws {
        switch result {
        case .deleted: return
        case .record:
            throw CKError(
                .internalError,
                "The service answered the deletion of \(recordID.recordName) with a record; fetch it"
                    + " again.")
        // A record that does not exist counts as deleted.
        case .failure(let failure) where failure.error.code == .notFound: return
        case .failure(let failure):
            var details: [String: Any] = [:]
            if failure.error.code == .conflict {
                details[CKRecordChangedErrorServerRecordKey] =
                    try (failure.serverRecord ?? lookedUp).map {
                        try reader.record($0, in: recordID.zoneID)
                    }
            }
            throw CKError(
                failure.error, about: .record, uuid: failure.uuid, details: details,
                address: address)
        }
    }
}
