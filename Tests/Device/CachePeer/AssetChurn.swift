import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusSync

/// A device that uses the service named in its environment. It saves, uploads, replaces, downloads, evicts and deletes
/// assets until its process is killed, and prints which records it saved and which it is deleting.
struct AssetChurn {
    let path: String
    let seed: String

    func run() async throws {
        var settings = SyncSettings()
        settings.listensForNotifications = false
        settings.operationsPerSecond = .infinity
        settings.coalescingSeconds = 0
        settings.firstRetryDelaySeconds = 0
        var assets = AssetSettings()
        assets.setPolicy(.always, forField: "kept", ofType: "Photo")
        let cache = try CloudCache(
            path: path, container: .default(), scopes: [.private], settings: settings,
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
                // A file that is being saved right now, or one that cannot be downloaded, does not matter here.
                try? await cache.removeDownloadedAssets()
                _ = try? await cache.asset("image", of: id)
            default:
                CachePeer.say("deleting \(name)")
                try await cache.delete(id)
            }
        }
    }
}
