import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A device without free space: nothing is lost, the app gets an error, and syncing continues once there is space.
@Suite struct StorageFullTests {
    /// Limits the file to its current number of pages, or removes the limit.
    private func limitPages(of device: Device, toPresent isLimited: Bool) throws {
        try device.cache.store.pool.writeWithoutTransaction { database in
            let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(
                sql: "PRAGMA max_page_count = \(isLimited ? count : 1_000_000)")
        }
    }

    private let long = String(repeating: "x", count: 20_000)

    @Test func saveOnAFullDiskIsRefusedAndWritesNothing() throws {
        let phone = try Device(RealService())
        try phone.save("a", "1")
        try limitPages(of: phone, toPresent: true)
        let error = #expect(throws: CacheError.self) { try phone.save("b", long) }
        #expect(error?.code == .storageFull)
        #expect(try phone.texts() == ["a": "1"])
        #expect(try phone.cache.pendingRecordIDs().map(\.recordName) == ["a"])
        try limitPages(of: phone, toPresent: false)
        try phone.save("b", long)
        #expect(try phone.texts().count == 2)
    }

    /// Another process writes for longer than SQLite waits for it.
    @Test(.timeLimit(.minutes(20))) func syncContinuesOnceAnotherProcessHasWritten() async throws {
        let cloud = RealService()
        let tablet = try Device(cloud)
        let phone = try Device(cloud)
        try await phone.sync()
        try tablet.save("a", "1")
        try await tablet.sync()
        try phone.cache.store.pool.setBusyTimeout(milliseconds: 1)
        let other = try OtherWriter(phone.path)
        try other.execute("BEGIN IMMEDIATE")
        await phone.cache.start()
        var status = try await phone.cache.status()
        while status.lastFailure == nil, status.haltReason == nil {
            await Task.yield()
            status = try await phone.cache.status()
        }
        try #require(status.haltReason == nil)
        try other.execute("COMMIT")
        while try phone.texts() != ["a": "1"] { await Task.yield() }
        await phone.cache.stop()
    }

    /// Records are to be migrated while another process writes for long.
    @Test func migrationThatMustWaitIsReportedAsNotSynced() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        var versions = RecordVersions()
        versions.declare("Item", key: "version", current: 2)
        versions.migrate("Item", to: 2) { record in
            record["title"] = record["text"] as String?
            return record
        }
        phone.versions = versions
        try phone.restart()
        try phone.cache.store.pool.setBusyTimeout(milliseconds: 1)
        let other = try OtherWriter(phone.path)
        try other.execute("BEGIN IMMEDIATE")
        var error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.code == .notSynced && error?.cause is DatabaseError)
        error = await #expect(throws: CacheError.self) { try await phone.cache.sync(within: 60) }
        #expect(error?.code == .notSynced && error?.cause is DatabaseError)
        try other.execute("COMMIT")
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["title"] == .string("1"))
    }

    /// The file cannot be opened when a sync begins.
    @Test func syncThatCannotOpenTheFileIsReportedAsNotSynced() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let pool = try #require(try phone.cache.store.pool as? DatabasePool)
        let driver = phone.cache.databases[0].driver
        let aside = phone.path + "-aside"
        try FileManager.default.moveItem(atPath: phone.path, toPath: aside)
        // Only the connection that writes stays open.
        pool.invalidateReadOnlyConnections()
        let error = await #expect(throws: CacheError.self) { try await driver.sync() }
        try FileManager.default.moveItem(atPath: aside, toPath: phone.path)
        #expect(error?.code == .notSynced && error?.cause is DatabaseError)
        try phone.save("b", "1")
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a", "b"])
    }

    /// The file cannot be opened while a notification is handled.
    @Test(.timeLimit(.minutes(20))) func syncContinuesOnceTheFileCanBeOpened() async throws {
        let cloud = RealService()
        let tablet = try Device(cloud)
        let phone = try Device(cloud)
        try await phone.sync()
        await phone.cache.start()
        let pool = try #require(try phone.cache.store.pool as? DatabasePool)
        let aside = phone.path + "-aside"
        try FileManager.default.moveItem(atPath: phone.path, toPath: aside)
        // Only the connection that writes stays open.
        pool.invalidateReadOnlyConnections()
        let driver = phone.cache.databases[0].driver
        await driver.receive(ChangeHint(zone: .list))
        var status = CacheStatus()
        await driver.fillStatus(&status)
        try FileManager.default.moveItem(atPath: aside, toPath: phone.path)
        try #require(status.haltReason == nil)
        try tablet.save("a", "1")
        try await tablet.sync()
        await driver.receive(ChangeHint(zone: .list))
        while try phone.texts() != ["a": "1"] { await Task.yield() }
        await phone.cache.stop()
    }

    @Test(arguments: [
        ResultCode.SQLITE_BUSY, .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOMEM,
    ])
    func errorOfTheSystemPasses(_ code: ResultCode) throws {
        let error = try #require(CacheError.passing(DatabaseError(resultCode: code)))
        #expect(error.code == (code == .SQLITE_FULL ? .storageFull : .notSynced))
    }

    @Test(arguments: [POSIXErrorCode.EDQUOT, .EMFILE, .ENOSPC])
    func errorOfAnAssetsFilePasses(_ code: POSIXErrorCode) throws {
        let cause = POSIXError(code)
        let error = try #require(CacheError.passing(CacheError.unwritable("a.part", cause: cause)))
        #expect(error.code == (code == .EMFILE ? .notSynced : .storageFull))
    }

    @Test(arguments: [ResultCode.SQLITE_CORRUPT, .SQLITE_CONSTRAINT, .SQLITE_READONLY])
    func errorOfTheFileItselfDoesNotPass(_ code: ResultCode) {
        #expect(CacheError.passing(DatabaseError(resultCode: code)) == nil)
        #expect(CacheError.passing(CacheError.unwritable("a.sqlite")) == nil)
    }

    @Test func syncContinuesOnceTheDiskHasSpace() async throws {
        let cloud = RealService()
        let tablet = try Device(cloud)
        let phone = try Device(cloud)
        try await phone.sync()
        try phone.save("mine", "1")
        for number in 0..<5 { try tablet.save("r\(number)", long) }
        try await tablet.sync()
        try limitPages(of: phone, toPresent: true)
        var events = phone.cache.events().makeAsyncIterator()
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.code == .storageFull)
        guard case .storageFull = await events.next() else {
            Issue.record("The app was not notified.")
            return
        }
        var status = try await phone.cache.status()
        #expect(status.isStorageFull && status.haltReason == nil)
        #expect(status.summary == "Storage full")
        #expect(try phone.text("mine") == "1")
        var changes = phone.cache.changes().makeAsyncIterator()
        await phone.cache.start()
        try limitPages(of: phone, toPresent: false)
        var seen: Set<String> = []
        while !seen.isSuperset(of: ["r0", "r1", "r2", "r3", "r4"]), let ids = await changes.next() {
            seen.formUnion(ids.map(\.recordName))
        }
        try await phone.cache.sync()
        status = try await phone.cache.status()
        #expect(!status.isStorageFull && status.summary == "Done")
        #expect(try await cloud.names() == ["mine", "r0", "r1", "r2", "r3", "r4"])
        #expect(try phone.texts().count == 6)
        await phone.cache.stop()
    }

    /// The service has committed the save, and there is no space to store its answer.
    @Test func answerLostToAFullDiskIsRecovered() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.save("a", "2")
        phone.link.duringNextSend {
            try phone.cache.store.pool.writeWithoutTransaction { database in
                let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER fill AFTER DELETE ON main.pending
                        BEGIN INSERT INTO flag VALUES (9, 'filler', hex(zeroblob(40000))); END
                        """)
                try database.execute(sql: "PRAGMA max_page_count = \(count)")
            }
        }
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.code == .storageFull)
        #expect(try await cloud.record("a")?["text"] == .string("2"))
        #expect(try await phone.cache.pendingRecordIDs().map(\.recordName) == ["a"])
        try await phone.cache.store.pool.writeWithoutTransaction { database in
            try database.execute(sql: "DROP TRIGGER temp.fill; PRAGMA max_page_count = 1000000")
        }
        try await phone.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(cloud.saveCount == 2, "The same save is not done twice.")
    }
}

/// The connection of another process to a cache's file.
private struct OtherWriter {
    private let queue: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // Work of the cache may just be writing.
        configuration.busyMode = .timeout(60)
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Runs a statement that may leave a transaction open.
    func execute(_ sql: String) throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    }
}

extension DatabaseWriter {
    /// Limits how long the connection that writes waits for other processes.
    fileprivate func setBusyTimeout(milliseconds: Int) throws {
        try writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA busy_timeout = \(milliseconds)")
        }
    }
}
