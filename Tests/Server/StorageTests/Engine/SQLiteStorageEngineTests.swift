import Foundation
import GRDB
import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// What is specific to an engine in a folder: durability, a full disk, open files.
@Suite struct SQLiteStorageEngineTests: StorageEngineFixture {
    // MARK: Durability

    @Test func everyWritingConnectionHasSynchronousFull() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let records = try await storage.withDatabase(of: address) { file in
                try await file.write { try pragmas($0) }
            }
            #expect(records == ["2", "wal"])
            let directory = try #require(storage.directory as? SQLiteDirectory)
            #expect(try await directory.database.write { try pragmas($0) } == ["2", "wal"])
            try await storage.close()
        }
    }

    private func pragmas(_ database: Database) throws -> [String] {
        try ["synchronous", "journal_mode"].map { name in
            try #require(try String.fetchOne(database, sql: "PRAGMA \(name)"))
        }
    }

    @Test func reopeningKeepsEverything() async throws {
        try await withTemporaryFolder { folder in
            let first = try SQLiteStorageEngine(folder: folder)
            let key = try await first.directory.signingKey()
            try await first.directory.createContainer(container)
            let epoch = try await fill(first.store(for: address), names: ["a", "b"])
            try await first.close()

            let second = try SQLiteStorageEngine(folder: folder)
            #expect(try await second.directory.signingKey() == key)
            #expect(try await second.directory.container(container))
            #expect(try await second.databases() == [address])
            let store = try await second.store(for: address)
            #expect(try await store.read { try $0.epoch } == epoch)
            #expect(try await names(in: store) == ["a", "b"])
            try await second.close()
        }
    }

    @Test func engineThatWasNotClosedLosesNothing() async throws {
        try await withTemporaryFolder { folder in
            do {
                let storage = try SQLiteStorageEngine(folder: folder)
                _ = try await fill(storage.store(for: address), names: ["a", "b", "c"])
            }
            let storage = try await opened(folder)
            #expect(try await names(in: storage.store(for: address)) == ["a", "b", "c"])
            try await storage.close()
        }
    }

    /// A killed process leaves the files as they are at one moment, with the log not yet checkpointed.
    /// PowerCutTests tests what a power cut leaves.
    @Test func copyOfOpenFilesHasAllAcknowledgedWrites() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            _ = try await fill(storage.store(for: address), names: ["a", "b"])
            let copy = folder + "-copy"
            try FileManager.default.copyItem(atPath: folder, toPath: copy)
            defer {
                // The system removes what is left in its temporary folder.
                try? FileManager.default.removeItem(atPath: copy)
            }
            let restored = try SQLiteStorageEngine(folder: copy)
            #expect(try await names(in: restored.store(for: address)) == ["a", "b"])
            try await restored.close()
            try await storage.close()
        }
    }

    private func withStore(
        _ limits: StorageLimits, _ body: (_ folder: String, any RecordStore) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder, limits: limits)
            try await body(folder, storage.store(for: address))
            try await storage.close()
        }
    }

    @Test func idleWriterIsCheckpointed() async throws {
        try await withStore(.with { $0.logPagesBeforeCheckpoint = 10 }) { folder, store in
            let file = DataFolder.path(of: address, in: folder)
            let before = try size(of: file)
            _ = try await fill(store, names: (0..<500).map(String.init))
            // Waits for the file to grow by polling, since nothing announces it.
            var rounds = 0
            while try size(of: file) <= before, rounds < 10_000 {
                rounds += 1
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try size(of: file) > before)
        }
    }

    private func size(of file: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return try #require(attributes[.size] as? Int)
    }

    // MARK: A full disk

    @Test func fullDiskFailsTheWriteAndKeepsAcknowledgedOnes() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let store = try await storage.store(for: address)
            _ = try await fill(store, names: ["kept"])
            let zone = try #require(try await store.read { try $0.zone(named: "Trails") }).key
            try await limitPages(of: storage, toFreePages: 40)

            // Many at once, so that the full disk affects some that share a commit.
            let outcomes = await withTaskGroup(of: (String, StorageError.Code?).self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let name = "big\(number)"
                        let code = await self.code {
                            try await store.writeRecords { writer in
                                let version = try writer.takeVersions(1, in: zone).lowerBound
                                try writer.put(
                                    record(name, zone, version, payload: 20_000))
                            }
                        }
                        return (name, code)
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 as StorageError.Code?? }
            }
            let saved = Set(outcomes.filter { $0.value == .some(nil) }.keys)
            let refused = Set(outcomes.values.compactMap { $0 ?? nil })
            #expect(refused == [.diskFull])
            #expect(Set(try await names(in: store)) == saved.union(["kept"]))
            let row = try await store.read { try $0.zone(named: "Trails") }
            #expect(row?.version == Int64(saved.count) + 1)

            // With space again, the versions continue without a gap.
            try await limitPages(of: storage, toFreePages: 4_000)
            _ = try await store.writeRecords { writer in
                let version = try writer.takeVersions(1, in: zone).lowerBound
                try writer.put(record("after", zone, version, payload: 20_000))
            }
            let page = try await store.read { reader in
                try reader.changes(
                    in: zone,
                    after: ChangeCursor(version: 0, skipTombstonesThrough: 0, device: ""),
                    limit: 99)
            }
            #expect(page.rows.map(\.version) == Array(1...page.version))
            try await storage.close()
        }
    }

    private func limitPages(of storage: SQLiteStorageEngine, toFreePages free: Int) async throws {
        try await storage.withDatabase(of: address) { file in
            try await file.write { database in
                let pages = try #require(try Int.fetchOne(database, sql: "PRAGMA page_count"))
                try database.execute(sql: "PRAGMA max_page_count = \(pages + free)")
            }
        }
    }

    // MARK: Open files

    @Test func openFilesStayWithinTheLimit() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(
                folder: folder, limits: .with { $0.openDatabases = 3 })
            for number in 0..<10 {
                let address = DatabaseAddress(container, .private(owner: "_\(number)"))
                _ = try await fill(storage.store(for: address), names: ["\(number)"])
            }
            #expect(storage.openDatabases == 3)
            for number in 0..<10 {
                let address = DatabaseAddress(container, .private(owner: "_\(number)"))
                #expect(try await names(in: storage.store(for: address)) == ["\(number)"])
            }
            try await storage.close()
            #expect(storage.openDatabases == 0)
        }
    }

    @Test func databasesBeyondTheOpenLimitProceed() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(
                folder: folder, limits: .with { $0.openDatabases = 2 })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let address = DatabaseAddress(container, .private(owner: "_\(number % 6)"))
                        let store = try await storage.store(for: address)
                        try await store.writeRecords { try $0.enqueue([UInt8(number)]) }
                    }
                }
                try await group.waitForAll()
            }
            var bodies: [UInt8] = []
            for number in 0..<6 {
                let address = DatabaseAddress(container, .private(owner: "_\(number)"))
                let store = try await storage.store(for: address)
                bodies += try await store.read { try $0.outbox(limit: 99).flatMap(\.body) }
            }
            #expect(bodies.sorted() == Array(0..<60))
            try await storage.close()
        }
    }

    @Test func fullWriteQueueRefusesWrites() async throws {
        try await withStore(.with { $0.waitingWrites = 1 }) { _, store in
            let codes = await withTaskGroup(of: StorageError.Code?.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        await self.code {
                            try await store.writeRecords { try $0.enqueue([UInt8(number)]) }
                        }
                    }
                }
                return await group.reduce(into: [StorageError.Code?]()) { $0.append($1) }
            }
            #expect(Set(codes).subtracting([nil, .busy]).isEmpty)
            let kept = try await store.read { try $0.outbox(limit: 999).count }
            #expect(kept == codes.count { $0 == nil })
        }
    }

    // MARK: -

    private func names(in store: any RecordStore) async throws -> [String] {
        try await store.read { reader in
            let zone = try #require(try reader.zone(named: "Trails"))
            var names: [String] = []
            try reader.scan(type: "Trail", in: zone.key, after: nil) { row in
                names.append(row.name)
                return true
            }
            return names
        }
    }

    /// Opens a folder whose last engine was released a moment ago and may still be unlocking it.
    private func opened(_ folder: String) async throws -> SQLiteStorageEngine {
        for _ in 0..<10_000 {
            do {
                return try SQLiteStorageEngine(folder: folder)
            } catch let error as StorageError where error.code == .inUse {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        return try SQLiteStorageEngine(folder: folder)
    }
}
