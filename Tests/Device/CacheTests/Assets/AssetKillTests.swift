import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import Synchronization
import TestServing
import Testing

@testable import StratusCache

/// A process that is killed while it saves, uploads, downloads and removes files leaves every record and every file
/// complete.
///
/// The process uses a service of this process over HTTP.
@Suite struct AssetKillTests {
    private let path = NSTemporaryDirectory() + "killed-\(UUID().uuidString).sqlite"
    /// Each kill takes some tenths of a second.
    private static let killCount =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 40 : 200

    private func remove() {
        for suffix in ["", "-wal", "-shm", "-lock", "-assets", "-source", "-keys"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    @Test(.timeLimit(.minutes(20))) func killAtAnyMomentLosesNoFileAndLeavesNoOrphan() async throws
    {
        defer { remove() }
        try await withServer(.forDevelopment(isThrottled: false)) { port in
            try await killAndCheck([
                "STRATUS_URL": "http://127.0.0.1:\(port)", "STRATUS_DEV_USER": "alice",
                "STRATUS_DEVICE_ID": "phone", "STRATUS_CONTAINER": CloudDevice.container,
                "STRATUS_KEY_FOLDER": path + "-keys",
            ])
        }
    }

    private func killAndCheck(_ environment: [String: String]) async throws {
        var saved: Set<String> = []
        var downloadCount = 0
        for kill in 0..<Self.killCount {
            let peer = try Peer(["assets", path, "\(kill)"], environment: environment)
            #expect(await peer.answer() == "open")
            // The kill comes after this many answers, whatever the process does then.
            for _ in 0..<(kill % 7) {
                let words = await peer.answer().split(separator: " ")
                if words.first == "saved" { saved.insert(String(words[1])) }
                if words.first == "deleting" { saved.remove(String(words[1])) }
            }
            // The process may be killed at any moment, so this waits for no event.
            try await Task.sleep(for: .milliseconds(kill % 5 * 3))
            for line in await peer.killed() {
                let words = line.split(separator: " ")
                if words.first == "saved" { saved.insert(String(words[1])) }
                if words.first == "deleting" { saved.remove(String(words[1])) }
            }
            #expect(peer.end() == SIGKILL, "It ended before it was killed.")
            downloadCount += try await check(saved, environment)
        }
        #expect(downloadCount > 0)
        print("\(Self.killCount) kills, \(downloadCount) files that were at the service alone.")
        #expect(!saved.isEmpty)
    }

    /// Opens the cache's file as the next process would, and checks every record and file.
    ///
    /// - Returns: The number of the records' files that were only at the service.
    private func check(_ saved: Set<String>, _ environment: [String: String]) async throws -> Int {
        var downloadCount = 0
        let database = CKContainer(
            identifier: CloudDevice.container,
            connection: CloudConnection(environmentVariables: environment)
        ).privateCloudDatabase
        let remote = CloudKitDatabase(database: database)
        let cache = try CloudCache(path: path, remotes: [remote])
        defer {
            // Nothing was written that a failed close could lose.
            try? cache.close()
        }
        try await cache.cachedAssets.tidy()
        let files = try Set(cache.file.assets.names())
        let (rows, uses) = try cache.file.pool.read { database in
            (
                try Row.fetchAll(database, sql: "SELECT key, file, sizeBytes FROM asset"),
                try Set(String.fetchAll(database, sql: "SELECT key FROM assetUse"))
            )
        }
        let named = Set(rows.map { $0[1] as String })
        #expect(named.isSubset(of: files))
        #expect(files.subtracting(named).allSatisfy { $0.hasSuffix(".part") })
        for row in rows {
            let url = cache.file.assets.url(row[1])
            #expect(try Data(contentsOf: url).count == row[2])
            #expect(uses.contains(row[0]))
        }
        let keys = Set(rows.map { $0[0] as String })
        for name in saved.sorted() {
            let id = RecordID(name: name, zoneID: .list)
            let record = try #require(try cache.snapshot(id))
            #expect(!record.assetKeys.isEmpty)
            for (field, key) in record.assetKeys {
                // A file that is not on the device is at the service.
                if !keys.contains(key) {
                    downloadCount += 1
                    let content = Mutex<[UInt8]>([])
                    try await remote.download(key, of: id, field: field, startingAt: 0) { bytes in
                        content.withLock { $0 += bytes }
                    }
                    let lines = content.withLock { $0.split(separator: UInt8(ascii: "\n")) }
                    #expect(lines.count == 20_000 && Set(lines).count == 1, "\(name) lost \(key)")
                }
                // A file that is only on the device is queued for upload.
                if key.hasPrefix(AssetReceipt.localPrefix) {
                    #expect(try await cache.pendingRecordIDs().contains { $0.recordName == name })
                }
            }
        }
        return downloadCount
    }
}
