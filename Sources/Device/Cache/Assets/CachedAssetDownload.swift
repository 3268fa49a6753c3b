import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// The download of an asset's file.
///
/// The bytes are written to a part file, which is kept when the process ends, so that a later
/// download resumes. When it is complete and durable it gets its name, and then its row.
///
/// The service's checksum is not one that this device can compute, so wrong bytes would not be noticed. A
/// download therefore resumes only after bytes that no power failure can have lost (`AssetPart`).
struct CachedAssetDownload: Sendable {
    let file: CacheFile
    let store: CacheStore
    let remote: any RemoteDatabase
    let key: String
    let sizeBytes: Int64?
    let id: RecordID
    let field: String

    private var partName: String { CacheFile.downloadName(key) + AssetFiles.partSuffix }
    /// The asset in messages.
    private var subject: String { "\(field) of the record \(id.name)" }

    /// Downloads the file, or the missing rest of it; one process at a time.
    ///
    /// - Throws: ``CacheError`` `notSynced`, `assetNotHere`, `storageFull` or `halted`, `CancellationError`.
    func run() async throws {
        let assets = file.assets
        while true {
            let (file, key) = (file, key)
            let isHere = try await DiskThread.run {
                // An app may have moved the file away.
                try file.read { try file.keptFile(key, $0) }
                    .map { assets.lease($0.file) != nil } ?? false
            }
            if isHere { return }
            let (name, size) = (partName, sizeBytes)
            let opened = try await DiskThread.run {
                try assets.making { try AssetPart(name, in: assets, sizeBytes: size) }
            }
            if let part = opened { return try await fill(part) }
            // Another process is downloading it.
            try await file.assets.world.timeout(0.5)
            await Task.yield()
        }
    }

    private func fill(_ part: AssetPart) async throws {
        let transfer = AssetTransfer(
            scope: store.scope, recordID: CKRecord.ID(id), fieldKey: field, isUpload: false,
            movedBytes: 0, totalBytes: sizeBytes)
        let transfers = file.assets.transfers
        do {
            if sizeBytes == nil || part.count < sizeBytes ?? 0 {
                let (store, user) = (store, try await remote.userRecordName())
                guard try await file.disk.read({ try store.isOpen(to: user) }) else {
                    throw CacheError.otherUser(ofFileAt: file.path)
                }
                try await remote.download(key, of: id, field: field, startingAt: part.count) {
                    piece in
                    let count = try await DiskThread.run { try part.append(piece) }
                    transfers.report(transfer, movedBytes: count)
                }
            }
        } catch let failure as SyncFailure {
            if let error = part.failure { throw error }
            if Task.isCancelled { throw CancellationError() }
            guard failure.code == .assetNotAvailable || failure.code == .unknownItem else {
                throw CacheError(
                    .notSynced, "The asset \(subject) was not downloaded. Request it again later.",
                    failure: failure)
            }
            throw CacheError(
                .assetNotHere,
                "The asset \(subject) is no longer at the service. Sync to get the current record.",
                failure: failure)
        }
        let (file, key, name) = (file, key, CacheFile.downloadName(key))
        let (sizeBytes, subject) = (sizeBytes, subject)
        try await DiskThread.run {
            guard part.count == sizeBytes ?? part.count else {
                part.restart()
                throw CacheError(
                    .notSynced,
                    "The download of the asset \(subject) ended before its last byte. Request the"
                        + " asset again.")
            }
            try part.sync()
            try file.assets.making {
                // The complete file would stay without a row; the next cache continues with the part.
                guard !file.isClosed else {
                    throw CacheError(
                        .notSynced,
                        "The cache was closed during the download of the asset \(subject). Request the"
                            + " asset again with the next cache.")
                }
                try file.assets.finish(part, as: name)
                try file.write { database in
                    try file.add(
                        CacheFile.KeptFile(key: key, file: name, sizeBytes: part.count), database)
                }
            }
        }
        transfers.report(transfer, movedBytes: part.count)
    }
}

/// A running download, for which several tasks can wait.
final class RunningDownload: Sendable {
    let task: Task<Void, Never>
    private let outcome: Outcome

    init(_ download: CachedAssetDownload, _ world: World) {
        let outcome = Outcome()
        self.outcome = outcome
        task = world.startTask("asset download") {
            do {
                try await download.run()
            } catch {
                outcome.failure.withLock { $0 = error }
            }
        }
    }

    /// Waits for its end; nil if it succeeded.
    func failure() async -> (any Error)? {
        await task.value
        return outcome.failure.withLock { $0 }
    }

    private final class Outcome: Sendable {
        let failure = Mutex<(any Error)?>(nil)
    }
}
