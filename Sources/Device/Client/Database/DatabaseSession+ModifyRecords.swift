import Foundation
import StratusRecords
import StratusWire

/// The results of a request to save and delete records.
struct RecordsModification: ItemsModification {
    var saves: [ItemResult<CKRecord.ID, CKRecord>] = []
    var deletions: [ItemResult<CKRecord.ID, Void>] = []
    /// The change tags of deletions, if the service sends them.
    var tombstoneTags: [CKRecord.ID: String] = [:]
}

extension DatabaseSession {
    /// Saves and deletes records of any zones with one request; first uploads their assets and
    /// encrypts their encrypted values.
    ///
    /// - Parameters:
    ///   - deletionTags: change tags that records must have to be deleted.
    ///   - replacedIDs: records whose fields are all sent, so that the service has no others.
    ///   - progress: called with the fraction of a record's assets that was sent, below 1.
    func modifyRecords(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        deletionTags: [CKRecord.ID: String] = [:], replacing replacedIDs: Set<CKRecord.ID> = [],
        policy: CKModifyRecordsOperation.RecordSavePolicy, isAtomic: Bool, operationID: String,
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> RecordsModification {
        var batch = ModifyBatch(
            records, policy: policy, isAtomic: isAtomic, deleting: recordIDs,
            deletionTags: deletionTags, replacing: replacedIDs,
            address: sender.connection.serviceAddress)
        // Before uploads, because assets are sent unencrypted.
        if !records.isEmpty { batch.refusePlainValues(of: try core.encryptedFields.keys()) }
        try await upload(&batch, progress: progress)
        try await encrypt(&batch)
        if !records.isEmpty { batch.refusePlainValues(of: try remembered(batch.encryptedFields)) }
        batch.close()
        guard !batch.operations.isEmpty else { return batch.outcome([], session: self).0 }
        let request = RecordsModify.Request(
            operations: batch.operations, isAtomic: isAtomic, operationID: operationID)
        let count = batch.operations.count
        let answer = try await sender.send(RecordsModify.self, request) { failure in
            // The service refuses an atomic batch as a whole, with a result for each operation.
            failure.records.flatMap { $0.count == count ? RecordsModify.Answer(records: $0) : nil }
        }
        try check(answer.records.count, for: count)
        try await batch.addServerRecords(to: answer.records, session: self)
        let (outcome, isIncomplete) = batch.outcome(answer.records, session: self)
        if isIncomplete { try await complete(outcome) }
        await addLinkKeys(
            to: outcome.saves.compactMap { $0.result.success as? CKShare }, makesKey: true)
        return outcome
    }

    /// Remembers the fields that are about to be encrypted for the first time.
    ///
    /// - Returns: all fields that this device encrypted.
    private func remembered(_ fields: Set<EncryptedField>) throws -> EncryptedKeys {
        try core.encryptedFields.add(fields)
        return try core.encryptedFields.keys()
    }

    /// Completes the records in the answer to a save. The save has its outcome already: what cannot
    /// be fetched is nil in the records.
    private func complete(_ outcome: RecordsModification) async throws {
        var records = outcome.saves.compactMap(\.result.success)
        var ancestors: [CKRecord] = []
        for save in outcome.saves {
            guard let error = save.result.failure as? CKError else { continue }
            if let ancestor = error.ancestorRecord { ancestors.append(ancestor) }
            // Conflict resolution reads the server's record, including its assets.
            if let server = error.serverRecord { records.append(server) }
        }
        let (incomplete, all) = (records.filter(\.hasWaitingAssets), ancestors + records)
        try await forgiving { try await decrypt(all) }
        try await forgiving { _ = try await downloadAssets(of: incomplete) }
    }

    /// Runs work on which the outcome does not depend: throws only cancellation.
    private func forgiving(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch CKError.operationCancelled {
            throw CKError.cancelled
        } catch {
            // What could not be fetched is nil in the records: the save has its outcome, and an
            // error would hide it.
        }
    }
}
