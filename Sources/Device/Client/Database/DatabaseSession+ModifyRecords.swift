import Foundation
import StratusRecords
import StratusWire

/// What became of each record of a save.
struct RecordsModification: Sendable {
    typealias Save = (recordID: CKRecord.ID, result: Result<CKRecord, any Error>)
    typealias Deletion = (recordID: CKRecord.ID, result: Result<Void, any Error>)

    var saves: [Save] = []
    var deletions: [Deletion] = []
    /// The change tags of deletions, as far as the service tells them.
    var tombstoneTags: [CKRecord.ID: String] = [:]
}

extension DatabaseSession {
    /// Saves and deletes records with one request, whatever their zones and their number; before it
    /// their assets are uploaded, and their encrypted values encrypted.
    ///
    /// - Parameters:
    ///   - deletionTags: records that are deleted only in the state of this change tag.
    ///   - progress: takes how much of a record's assets was sent, below 1.
    func modifyRecords(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        deletionTags: [CKRecord.ID: String] = [:],
        policy: CKModifyRecordsOperation.RecordSavePolicy, isAtomic: Bool, operationID: String,
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> RecordsModification {
        var batch = ModifyBatch(
            records, policy: policy, isAtomic: isAtomic, deleting: recordIDs,
            deletionTags: deletionTags, address: sender.connection.serviceAddress)
        // Before assets are uploaded, as they are in the clear.
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
            // An atomic batch that failed is told as a refusal with a result for each operation.
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

    /// Remembers what is about to be encrypted for the first time.
    ///
    /// - Returns: all fields that this device encrypted.
    private func remembered(_ fields: Set<EncryptedField>) throws -> EncryptedKeys {
        try core.encryptedFields.add(fields)
        return try core.encryptedFields.keys()
    }

    /// Fetches what the answers to a save lack. The save has its outcome already: what cannot be
    /// fetched now is nil in the records.
    private func complete(_ outcome: RecordsModification) async throws {
        var records = outcome.saves.compactMap(\.result.success)
        var ancestors: [CKRecord] = []
        for save in outcome.saves {
            guard let error = save.result.failure as? CKError else { continue }
            if let ancestor = error.ancestorRecord { ancestors.append(ancestor) }
            // Whoever resolves a conflict reads the server's record, its assets included.
            if let server = error.serverRecord { records.append(server) }
        }
        let (incomplete, all) = (records.filter(\.hasWaitingAssets), ancestors + records)
        try await forgiving { try await decrypt(all) }
        try await forgiving { _ = try await downloadAssets(of: incomplete) }
    }

    /// Does what the outcome does not depend on: only cancellation ends it.
    private func forgiving(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch CKError.operationCancelled {
            throw CKError.cancelled
        } catch {
            // As ``complete(_:)`` says.
        }
    }
}
