import StratusClient
import StratusRecords
import StratusSync
import Synchronization

/// Uploads files before the records that have them are sent.
extension SyncDriver {
    /// How many records one operation uploads files of.
    private static let recordsPerOperation = 16
    /// Concurrent uploads; the service allows 16 per user.
    private static let uploadsAtATime = 4

    /// Uploads the files of the next pending saves. Each upload is recorded when it ends; a record
    /// whose file is refused is treated as if its save had been refused.
    ///
    /// - Throws: `SyncFailure` for transient errors, and errors of the cache's own file.
    func uploadAssets() async throws {
        let waiting = try store.waitingUploads(
            itemLimit: Self.recordsPerOperation, withholding: session.withheldOwners)
        guard !waiting.isEmpty else { return }
        let (store, remote) = (store, remote)
        let failures = Mutex<[Int: SyncFailure]>([:])
        try await forEachConcurrently(Array(waiting.indices), limit: Self.uploadsAtATime) { place in
            let failure = try await Self.upload(waiting[place], store, remote)
            failures.withLock { $0[place] = failure }
        }
        let refused = failures.withLock { $0 }.sorted { $0.key < $1.key }
        guard !refused.isEmpty else { return }
        try finish(
            refused.map { waiting[$0.key].change },
            refused.map { .failed($0.value, server: nil) }, wereSent: false)
    }

    /// - Returns: the error of a file of the record, transient or permanent; nil if all are
    ///   uploaded.
    private static func upload(
        _ item: CacheStore.WaitingUpload, _ store: CacheStore, _ remote: any RemoteDatabase
    ) async throws -> SyncFailure? {
        let (id, disk) = (item.change.change.id, store.file.disk)
        for (field, kept) in item.files {
            if try await disk.write({ try store.reuseUpload(of: kept, for: item) }) { continue }
            guard let lease = store.file.assets.lease(kept.file) else {
                return SyncFailure(
                    .assetFileNotFound,
                    message:
                        "The asset's file in the field \(field) is missing; give the field a file again."
                )
            }
            let transfer = AssetTransfer(
                scope: store.scope, recordID: CKRecord.ID(id), fieldKey: field, isUpload: true,
                movedBytes: 0, totalBytes: kept.sizeBytes)
            do {
                let value = try await remote.upload(
                    OutgoingAsset(
                        url: store.file.assets.url(kept.file), sizeBytes: kept.sizeBytes, id: id,
                        recordType: item.change.client?.type ?? "", field: field)
                ) { store.file.assets.transfers.report(transfer, movedBytes: $0) }
                try await disk.write { try store.uploaded(kept, as: value, for: item) }
                store.file.assets.transfers.report(transfer, movedBytes: kept.sizeBytes)
            } catch let failure as SyncFailure where failure.isOfOneRecord {
                return failure
            }
            withExtendedLifetime(lease) {}
        }
        return nil
    }
}

extension SyncFailure {
    /// Whether the failure concerns only this record, so that other records' files can be uploaded.
    fileprivate var isOfOneRecord: Bool {
        switch RecoveryAction.forSave(code) {
        case .awaitNetwork, .slowDown, .awaitAccount, .halt, .requeue: false
        default: true
        }
    }
}
