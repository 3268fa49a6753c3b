import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A process that is killed while it saves, uploads, downloads and removes files leaves nothing half done.
@Suite struct AssetKillTests {
    private let path = NSTemporaryDirectory() + "killed-\(UUID().uuidString).sqlite"
    private var service: String { path + "-service" }
    /// Each kill takes some tenths of a second.
    private static let killCount =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 40 : 200

    private func remove() {
        for suffix in ["", "-wal", "-shm", "-lock", "-assets", "-service", "-source"] {
            // What was never made need not go.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    @Test(.timeLimit(.minutes(20))) func killAtAnyPlaceLosesNoFileAndLeavesNoOrphan() async throws {
        defer { remove() }
        try FileManager.default.createDirectory(
            atPath: service, withIntermediateDirectories: true)
        var saved: Set<String> = []
        for kill in 0..<Self.killCount {
            let peer = try Peer([path, service, "\(kill)"])
            #expect(await peer.answer() == "open")
            // Whatever it does after so many answers.
            for _ in 0..<(kill % 7) {
                let words = await peer.answer().split(separator: " ")
                if words.first == "saved" { saved.insert(String(words[1])) }
                if words.first == "deleting" { saved.remove(String(words[1])) }
            }
            // Any moment will do: nothing is waited for.
            try await Task.sleep(for: .milliseconds(kill % 5 * 3))
            for line in await peer.killed() {
                let words = line.split(separator: " ")
                if words.first == "saved" { saved.insert(String(words[1])) }
                if words.first == "deleting" { saved.remove(String(words[1])) }
            }
            try await check(saved)
        }
        #expect(!saved.isEmpty)
    }

    /// Opens the file as the next process does, and looks at everything.
    private func check(_ saved: Set<String>) async throws {
        let cache = try CloudCache(path: path, remotes: [RealService().remote()])
        defer {
            // Nothing was written that could be lost.
            try? cache.close()
        }
        try await cache.keeper.tidy()
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
        let atService = try FileManager.default.contentsOfDirectory(atPath: service)
        let keys = Set(rows.map { $0[0] as String })
        for name in saved.sorted() {
            let record = try #require(try cache.snapshot(RecordID(name: name, zoneID: .list)))
            #expect(!record.assetKeys.isEmpty)
            for (_, key) in record.assetKeys {
                #expect(keys.contains(key) || atService.contains(key), "\(name) lost \(key)")
                // What is here alone is queued.
                if key.hasPrefix(AssetReceipt.localPrefix) {
                    #expect(try await cache.pendingRecordIDs().contains { $0.recordName == name })
                }
            }
        }
    }
}
