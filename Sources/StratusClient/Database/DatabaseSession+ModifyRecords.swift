import Foundation
import StratusRecords
import StratusWire

/// What became of each record of a save.
struct RecordsModification: Sendable {
    typealias Save = (recordID: CKRecord.ID, result: Result<CKRecord, any Error>)
    typealias Deletion = (recordID: CKRecord.ID, result: Result<Void, any Error>)

    var saves: [Save] = []
    var deletions: [Deletion] = []
}

extension DatabaseSession {
    /// Saves and deletes records with one request, whatever their zones and their number.
    func modifyRecords(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        policy: CKModifyRecordsOperation.RecordSavePolicy, isAtomic: Bool, operationID: String
    ) async throws -> RecordsModification {
        var batch = ModifyBatch(records, policy: policy, isAtomic: isAtomic, deleting: recordIDs)
        guard !batch.operations.isEmpty else { return batch.outcome([], reader: reader) }
        let request = RecordsModify.Request(
            operations: batch.operations, isAtomic: isAtomic, operationID: operationID)
        let count = batch.operations.count
        let answer = try await sender.send(RecordsModify.self, request) { failure in
            // An atomic batch that failed is told as a refusal with a result for each operation.
            failure.records.flatMap { $0.count == count ? RecordsModify.Answer(records: $0) : nil }
        }
        try check(answer.records.count, for: count)
        try await batch.addServerRecords(to: answer.records, session: self)
        return batch.outcome(answer.records, reader: reader)
    }
}

/// The records of one save, from draft to outcome.
private struct ModifyBatch {
    private let records: [CKRecord]
    private let recordIDs: [CKRecord.ID]
    private var drafts: [Result<CKRecord.Draft, CKError>]
    /// Zones of which nothing is sent, as one of their records cannot be.
    private var spoiltZones: Set<CKRecordZone.ID> = []
    /// The server's records by operation, where the answer left them out.
    private var serverRecords: [Int: RecordDictionary] = [:]
    private(set) var operations: [RecordsModify.Operation] = []

    init(
        _ records: [CKRecord], policy: CKModifyRecordsOperation.RecordSavePolicy, isAtomic: Bool,
        deleting recordIDs: [CKRecord.ID]
    ) {
        self.records = records
        self.recordIDs = recordIDs
        let recordIDsToSave = Set(records.map(\.recordID))
        drafts = records.map { record in
            do {
                if let root = record.rootOfNewShare, !recordIDsToSave.contains(root) {
                    throw CKError(
                        .invalidArguments, "Save a new share together with its root record.")
                }
                return .success(try record.draft(policy: policy))
            } catch {
                // Told as the record's own result.
                return .failure(CKError(requestFailedWith: error))
            }
        }
        for (record, draft) in zip(records, drafts) {
            if isAtomic, case .failure = draft { spoiltZones.insert(record.recordID.zoneID) }
        }
        for (record, draft) in zip(records, drafts) {
            if case .success(let draft) = draft, !isSpoilt(record.recordID) {
                operations.append(draft.operation)
            }
        }
        for recordID in recordIDs where !isSpoilt(recordID) {
            operations.append(
                RecordsModify.Operation(
                    .forceDelete,
                    RecordDictionary(
                        recordName: recordID.recordName, zoneID: recordID.zoneID.dictionary)))
        }
    }

    private func isSpoilt(_ recordID: CKRecord.ID) -> Bool {
        !spoiltZones.isEmpty && spoiltZones.contains(recordID.zoneID)
    }

    /// Looks up the server's records of conflicts whose answer has none, as other services answer.
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
            // The save has its outcome already; the conflict is told without the server's record.
            return
        }
        for (want, result) in zip(wanted, answer.records) {
            if case .record(let dictionary) = result {
                serverRecords[want.operation] = dictionary
            }
        }
    }

    /// Matches results to what was asked, and brings the saved records up to date.
    func outcome(_ results: [RecordResult], reader: RecordReader) -> RecordsModification {
        var reader = reader
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
                    try saved(record, draft, results[next], server, reader: &reader)
                }
                next += 1
            }
            outcome.saves.append((record.recordID, result))
        }
        for recordID in recordIDs {
            if isSpoilt(recordID) {
                outcome.deletions.append((recordID, .failure(Self.spoilt)))
            } else {
                outcome.deletions.append((recordID, deleted(results[next])))
                next += 1
            }
        }
        return outcome
    }

    private static let spoilt = CKError(
        .batchRequestFailed, "Another record of the same zone could not be sent.")

    private func saved(
        _ record: CKRecord, _ draft: CKRecord.Draft, _ result: RecordResult,
        _ lookedUp: RecordDictionary?, reader: inout RecordReader
    ) throws -> CKRecord {
        switch result {
        case .record(let dictionary):
            record.confirm(draft, try reader.state(dictionary, in: record.recordID.zoneID))
            return record
        case .deleted:
            throw CKError(.internalError, "The service answered a save with a deletion.")
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
            details[CKRecordChangedErrorServerRecordKey] =
                try server.map { try reader.record($0, in: zoneID) }
            if let ancestor = failure.ancestorRecord {
                details[CKRecordChangedErrorAncestorRecordKey] =
                    try reader.record(ancestor, in: zoneID)
            } else if draft.base.changeTag != nil {
                details[CKRecordChangedErrorAncestorRecordKey] = CKRecord.made(
                    recordType: record.recordType, recordID: record.recordID, state: draft.base)
            }
        }
        return CKError(failure.error, about: .record, uuid: failure.uuid, details: details)
    }

    private func deleted(_ result: RecordResult) -> Result<Void, any Error> {
        switch result {
        case .deleted: .success(())
        case .record:
            .failure(CKError(.internalError, "The service answered a deletion with a record."))
        // What is not there is deleted as asked.
        case .failure(let failure) where failure.error.code == .notFound: .success(())
        case .failure(let failure):
            .failure(CKError(failure.error, about: .record, uuid: failure.uuid))
        }
    }
}
