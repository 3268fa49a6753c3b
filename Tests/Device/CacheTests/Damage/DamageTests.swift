import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import TestProcesses
import TestSeeds
import Testing

@testable import StratusCache

/// A damaged file is moved aside, its unsent changes are offered, and everything else is fetched again.
@Suite(.timeLimit(.minutes(20))) struct DamageTests {
    /// A device with many synced records, and an unsent edit, new record and deletion.
    private func device(_ cloud: RealService, recordCount: Int = 300) async throws -> Device {
        let phone = try Device(cloud)
        for number in 0..<recordCount { try phone.save("r\(number)", "text \(number)") }
        try await phone.sync()
        try phone.save("r7", "edited")
        try phone.save("new", "made here")
        try phone.delete("r8")
        return phone
    }

    /// The process ends, the file is damaged, and the process starts again.
    private func damage(_ phone: Device, _ body: (inout Data) -> Void) throws {
        try phone.restart {
            let url = URL(fileURLWithPath: phone.path)
            var bytes = try Data(contentsOf: url)
            body(&bytes)
            try bytes.write(to: url)
        }
    }

    private func asides(_ phone: Device) throws -> [String] {
        let url = URL(fileURLWithPath: phone.path)
        return try FileManager.default.contentsOfDirectory(
            atPath: url.deletingLastPathComponent().path
        ).filter {
            $0.hasPrefix(url.lastPathComponent + ".damaged-") && !$0.hasSuffix("-wal")
                && !$0.hasSuffix("-shm")
        }
    }

    private func report(_ phone: Device) throws -> CacheReport? {
        try phone.cache.reports().first {
            if case .fileDamaged = $0.event { true } else { false }
        }
    }

    @Test func damagedFileReportsUnsentChangesAndIsFetchedAgain() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud)
        try damage(phone) { bytes in
            // Any table's root page may be damaged; the header stays intact.
            for page in stride(from: 20, to: bytes.count / 4_096, by: 7) {
                bytes.replaceSubrange(
                    page * 4_096..<page * 4_096 + 8, with: [0xFF, 1, 2, 3, 4, 5, 6, 7])
            }
        }
        for _ in 0..<3 where try asides(phone).isEmpty {
            do {
                try await phone.cache.sync()
                _ = try phone.texts()
            } catch {
                try phone.restart()
            }
        }
        #expect(try asides(phone).count == 1)
        let report = try #require(try report(phone))
        guard case .fileDamaged(let aside, let saves, let deletions, let unreadable) = report.event
        else { return }
        #expect(FileManager.default.fileExists(atPath: aside))
        #expect(saves.count + deletions.count + unreadable.count == 3)
        try await phone.sync()
        #expect(try await phone.texts() == cloud.texts())
        // The pages of the queue were not damaged here, so all its changes are restored.
        try phone.cache.restore(report)
        try await phone.sync()
        let all = try phone.texts()
        if !saves.isEmpty { #expect(try await all == cloud.texts()) }
        for save in saves { #expect(all[save.recordID.recordName] == save["text"]) }
        for id in deletions { #expect(all[id.recordName] == nil) }
        #expect(try self.report(phone) == nil)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try FileManager.default.removeItem(atPath: aside)
    }

    /// Before the first sync only records of this device can be edited or deleted; no offered change is lost.
    @Test func reportedEditsAreRestoredOfflineAndDeletionsAfterSync() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        try phone.restart { DamageMark(cachePath: phone.path).set("") }
        #expect(try phone.texts().isEmpty)
        let report = try #require(try report(phone))
        try phone.cache.restore(report)
        #expect(try phone.texts() == ["r7": "edited", "new": "made here"])
        #expect(try self.report(phone) != nil, "the deletion waits")
        try await phone.sync()
        #expect(try await cloud.record("r7")?["text"] == .string("edited"))
        try phone.cache.restore(report)
        try await phone.sync()
        #expect(try await cloud.record("r8") == nil)
        #expect(try await cloud.record("new") != nil)
        #expect(try self.report(phone) == nil)
        // The restored edits kept their ancestors, so the service accepted them.
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.status().userRecordName == cloud.userRecordName())
        #expect(try phone.cache.loggedEvents().contains { $0.kind == "damaged" })
    }

    @Test func emptiedFileIsReplacedAndReported() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        try damage(phone) { $0 = Data() }
        #expect(try report(phone) != nil)
        try await phone.sync()
        #expect(try await phone.texts() == cloud.texts())
    }

    /// Wherever the damage is, in the header, in tables or in indexes, the app gets a working file.
    @Test(
        arguments: Seeds.forTest("DamageTests", count: 12),
        ["flipped", "zeroed", "truncated", "scattered"])
    func anyDamagedFileIsReplacedByAWorkingOne(_ seed: UInt64, _ kind: String) async throws {
        var random = SeededNumbers(seed: seed)
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 150)
        try damage(phone) { bytes in
            let pages = bytes.count / 4_096
            let page = Int.random(in: 0..<pages, using: &random)
            switch kind {
            case "flipped":
                for offset in 0..<12 { bytes[page * 4_096 + offset] ^= 0xA5 }
            case "zeroed":
                bytes.replaceSubrange(
                    page * 4_096..<(page + 1) * 4_096, with: Data(repeating: 0, count: 4_096))
            case "truncated": bytes = bytes.prefix(page * 4_096)
            default:
                for _ in 0..<40 { bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 0x5A }
            }
        }
        var isWell = false
        var errors: [any Error] = []
        for _ in 0..<4 where !isWell {
            do {
                if let report = try report(phone) { try phone.cache.restore(report) }
                try await phone.cache.sync()
                if let report = try report(phone) { try phone.cache.restore(report) }
                _ = try phone.texts()
                isWell = true
            } catch {
                errors.append(error)
                try phone.restart()
            }
        }
        #expect(isWell, "seed \(seed): \(errors)")
        // Unread parts of the old file may still be damaged; a new file must be intact.
        if try !asides(phone).isEmpty {
            try await phone.sync()
            // A salvaged edit whose field has a damaged name is refused by the service and reported to the app.
            if try await phone.cache.attentionItems().isEmpty {
                #expect(try await phone.texts() == cloud.texts(), "seed \(seed)")
            }
            let violations = try CacheInspection.look(atFile: phone.path) { try $0.violations() }
            #expect(violations.isEmpty, "seed \(seed)")
        }
        for aside in try asides(phone) {
            let folder = URL(fileURLWithPath: phone.path).deletingLastPathComponent().path
            for suffix in ["", "-wal", "-shm"] {
                // A file that was never created need not be removed.
                try? FileManager.default.removeItem(atPath: folder + "/" + aside + suffix)
            }
        }
    }

    /// The format's number in the header is damaged, but the file has no migration of a newer app.
    @Test func damagedFormatNumberIsNotTakenForANewerFormat() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        try damage(phone) { $0[63] ^= 0x5A }
        let report = try #require(try report(phone))
        guard case .fileDamaged(let aside, let saves, let deletions, _) = report.event else {
            return
        }
        #expect(saves.count == 2)
        #expect(deletions.count == 1)
        try await phone.sync()
        #expect(try await phone.texts() == cloud.texts())
        try FileManager.default.removeItem(atPath: aside)
    }

    /// SQLite does not notice a flipped byte in a value, and the file would belong to another account.
    @Test(arguments: ["userRecordName", "userCheck"])
    func damagedUserNameIsNotTakenForAnotherAccount(_ flag: String) async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        try phone.restart {
            try DatabaseQueue.other(phone.path).write {
                try $0.execute(
                    sql: "UPDATE flag SET value = '9' || value WHERE name = ?", arguments: [flag])
            }
        }
        await #expect(throws: (any Error).self) { try await phone.cache.sync() }
        try phone.restart()
        #expect(try await phone.cache.status().userRecordName == cloud.userRecordName())
        let report = try #require(try report(phone))
        guard case .fileDamaged(let aside, let saves, let deletions, _) = report.event else {
            return
        }
        #expect(saves.count == 2 && deletions.count == 1)
        try phone.cache.restore(report)
        try await phone.sync()
        #expect(try await phone.texts() == cloud.texts())
        try FileManager.default.removeItem(atPath: aside)
    }

    /// A file that an earlier version created has a user without a checksum.
    @Test func userWithoutAChecksumIsKept() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 1)
        try phone.restart {
            try DatabaseQueue.other(phone.path).write {
                try $0.execute(sql: "DELETE FROM flag WHERE name = 'userCheck'")
            }
        }
        try await phone.sync()
        #expect(try await phone.texts() == cloud.texts())
        #expect(try await phone.cache.reports().isEmpty)
    }

    /// The process is killed between the steps of moving the file aside.
    @Test(arguments: ["moved", "half moved", "not moved"])
    func interruptedReplacementOfADamagedFileContinues(_ place: String) async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        let aside = phone.path + ".damaged-20261123T000000Z"
        try phone.restart {
            DamageMark(cachePath: phone.path).set(aside)
            guard place != "not moved" else { return }
            try FileManager.default.moveItem(atPath: phone.path, toPath: aside)
            if place == "half moved" {
                try Data("x".utf8).write(to: URL(fileURLWithPath: phone.path + "-wal"))
            }
        }
        for _ in 0..<2 {
            guard case .fileDamaged(aside, let saves, let deletions, _) = try report(phone)?.event
            else {
                Issue.record("The unsent changes are not offered.")
                return
            }
            #expect(saves.count == 2 && deletions.count == 1)
            try phone.restart()
        }
        #expect(try await phone.cache.reports().count == 1)
        for suffix in ["", "-wal", "-shm"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: aside + suffix)
        }
    }

    /// Closing a file that was moved would remove the log of the file in its place.
    @Test func damagedFileOpenInAnotherProcessIsNotReplaced() async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud, recordCount: 20)
        let other = try DatabaseQueue.other(phone.path)
        _ = try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") }
        try phone.cache.close()
        DamageMark(cachePath: phone.path).set("")
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: phone.path, remotes: [cloud.remote()])
        }
        #expect(error?.code == .inUse)
        let descriptors = try openDescriptors(of: phone.path).values.sorted()
        #expect(throws: CacheError.self) {
            try CloudCache(path: phone.path, remotes: [cloud.remote()])
        }
        #expect(try openDescriptors(of: phone.path).values.sorted() == descriptors)
        try other.close()
        try phone.restart()
        #expect(try report(phone) != nil)
    }

    @Test func damageOfAMemoryFileLeavesNoMark() throws {
        let file = try CacheFile(memory: MemoryCacheFile(), world: .live)
        file.noteDamage(DatabaseError(resultCode: .SQLITE_CORRUPT))
        #expect(!DamageMark(cachePath: file.path).isSet)
        file.close()
    }

    /// A file that is not a cache is not moved.
    @Test func fileOfAnotherProgramIsNotMoved() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(atPath: path)
        }
        let bytes = Data(repeating: 7, count: 9_000)
        try bytes.write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: path, remotes: [RealService().remote()])
        }
        #expect(error?.code == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }

    /// Nor is a database of another program in which the name of a migration occurs, even if a cache was opened at its
    /// path before.
    @Test func databaseOfAnotherProgramIsNotMoved() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer {
            for suffix in ["", "-lock"] {
                // A leftover in the temporary folder fails no test.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        try Data().write(to: URL(fileURLWithPath: path + "-lock"))
        let names = CacheFormat.format.migrations.map(\.identifier)
        let name = try #require(names.max { $0.count < $1.count })
        let other = try DatabaseQueue(path: path)
        try other.write { database in
            try database.execute(sql: "CREATE TABLE note (text TEXT)")
            try database.execute(sql: "INSERT INTO note VALUES (?)", arguments: [name])
        }
        try other.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: path, remotes: [RealService().remote()])
        }
        #expect(error?.code == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
}
