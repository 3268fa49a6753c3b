import StratusClient
import StratusRecords
import StratusSync

/// Files before the records that have them.
extension SyncDriver {
    /// Records whose files one operation uploads, and uploads at a time.
    private static let recordsPerOperation = 16
    private static let uploadsAtATime = 4

    /// Uploads what the next pending saves wait for. Each upload is written down as it ends; a record of which a file
    /// is refused is settled as if its save had been.
    ///
    /// - Throws: `SyncFailure` for what may succeed a little later, and what the cache's own file throws.
    func uploadAssets() async throws {
        let waiting = try store.waitingUploads(
            itemLimit: Self.recordsPerOperation, withholding: session.withheldOwners)
        guard !waiting.isEmpty else { return }
        let (store, remote) = (store, remote)
        let failures = try await withThrowingTaskGroup(of: (Int, SyncFailure?).self) { group in
            var failures: [Int: SyncFailure] = [:]
            for (index, item) in waiting.enumerated() {
                if index >= Self.uploadsAtATime, let (place, failure) = try await group.next() {
                    failures[place] = failure
                }
                group.addTask { (index, try await Self.upload(item, store, remote)) }
            }
            for try await (place, failure) in group { failures[place] = failure }
            return failures
        }
        let refused = failures.sorted { $0.key < $1.key }
        guard !refused.isEmpty else { return }
        try finish(
            refused.map { waiting[$0.key].change },
            refused.map { .failed($0.value, server: nil) }, wereSent: false)
    }

    /// - Returns: why a file of the record is refused for now or for good; nil where all are uploaded.
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
                        "The file of the field \(field) is missing; give the field a file again.")
            }
            let transfer = AssetTransfer(
                scope: store.scope, recordID: CKRecord.ID(id), fieldKey: field, isUpload: true,
                movedBytes: 0, totalBytes: kept.sizeBytes)
            do {
                let value = try await remote.upload(
                    OutgoingAsset(
                        url: store.file.assets.url(kept.file), sizeBytes: kept.sizeBytes, id: id,
                        recordType: item.change.client?.type ?? "", field: field)
                ) { store.file.assets.transfers.tell(transfer, movedBytes: $0) }
                try await disk.write { try store.uploaded(kept, as: value, for: item) }
                store.file.assets.transfers.tell(transfer, movedBytes: kept.sizeBytes)
            } catch let failure as SyncFailure where failure.isOfOneRecord {
                return failure
            }
            withExtendedLifetime(lease) {}
        }
        return nil
    }
}

extension SyncFailure {
    /// Whether another record's files may be uploaded all the same.
    fileprivate var isOfOneRecord: Bool {
        switch RecoveryAction.forSave(code) {
        case .awaitNetwork, .slowDown, .awaitAccount, .halt, .requeue: false
        default: true
        }
    }
}
