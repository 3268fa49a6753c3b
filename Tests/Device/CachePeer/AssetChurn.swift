import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusSync

/// Saves, uploads, replaces, downloads, evicts and deletes assets until somebody kills it, and says what is saved.
struct AssetChurn {
    let path: String
    /// A folder that stands for the service's files.
    let service: String
    let seed: String

    func run() async throws {
        var settings = SyncSettings()
        settings.listensForNotifications = false
        settings.minimumDelaySeconds = 0
        settings.coalescingSeconds = 0
        settings.firstRetryDelaySeconds = 0
        var assets = AssetSettings()
        assets.setPolicy(.always, forField: "kept", ofType: "Photo")
        let cache = try CloudCache(
            path: path, remotes: [FolderService(folder: service)], settings: settings,
            assets: assets)
        CachePeer.say("open")
        var state = UInt64(seed) ?? 1
        func random(_ count: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % count
        }
        for round in 0... {
            let name = "r\(random(6))"
            let id = CKRecord.ID(CachePeer.id(name))
            switch random(6) {
            case 0, 1, 2:
                let source = URL(fileURLWithPath: path + "-source")
                let content = "\(seed)-\(round)"
                try Data(String(repeating: content + "\n", count: 20_000).utf8).write(to: source)
                let record =
                    try await cache.record(for: id) ?? CKRecord(recordType: "Photo", recordID: id)
                record[random(2) == 0 ? "kept" : "image"] = CKAsset(fileURL: source)
                try await cache.save(record)
                CachePeer.say("saved \(name)")
            case 3: try await cache.sync()
            case 4:
                try await cache.sync()
                // A file that is being saved at this moment, or one that is not to be had, is no matter here.
                try? await cache.removeDownloadedAssets()
                _ = try? await cache.asset("image", of: id)
            default:
                CachePeer.say("deleting \(name)")
                try await cache.delete(id)
            }
        }
    }
}

/// A service that takes everything, and keeps files in a folder.
struct FolderService: RemoteDatabase {
    let folder: String

    var scope: CKDatabase.Scope { .private }

    func userRecordName() async throws -> String { "_alice" }
    func accountChanges() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    func hints() -> AsyncStream<HintEvent> { AsyncStream { $0.finish() } }
    func hint(of notification: CKNotification) -> ChangeHint? { nil }
    func saveSubscription(wasSaved: Bool) async throws -> Bool { !wasSaved }

    var deviceID: String { "phone" }
    func cancel(_ operations: [UnansweredOperation]) async throws {}

    func modifyZones(
        create: [ZoneID], delete: [ZoneID], generations: [ZoneID: Int64], operationID: String
    ) async throws -> ZoneOutcomes {
        ZoneOutcomes(
            created: Dictionary(uniqueKeysWithValues: create.map { ($0, SyncFailure?.none) }))
    }

    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage {
        DatabasePage(changed: [CachePeer.id("").zoneID], token: "1")
    }

    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage { ZonePage(token: "1") }

    func send(
        _ changes: [OutgoingChange], isAtomic: Bool, operationID: String
    ) async throws -> [OutgoingAnswer] {
        changes.map { item in
            item.client == nil ? .deleted(tag: nil) : .saved(.init(changeTag: UUID().uuidString))
        }
    }

    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        ids.map { _ in .success(nil) }
    }

    func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt {
        // The name is the content's digest.
        let checksum = "at the service " + asset.url.lastPathComponent
        let target = URL(fileURLWithPath: folder + "/" + checksum)
        try Data(contentsOf: asset.url).write(to: target, options: .atomic)
        return AssetReceipt(
            fileChecksum: checksum, sizeBytes: asset.sizeBytes, receipt: "good")
    }

    func download(
        _ checksum: String, of id: RecordID, field: String, startingAt offset: Int64,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let all: Data
        do {
            all = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + checksum))
        } catch {
            throw SyncFailure(.assetNotAvailable, message: "No such file.")
        }
        for start in stride(from: Int(offset), to: all.count, by: 50_000) {
            try await receive([UInt8](all[start..<min(start + 50_000, all.count)]))
        }
    }
}
