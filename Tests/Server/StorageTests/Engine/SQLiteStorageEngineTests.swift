import Foundation
import GRDB
import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

private let container = ContainerAddress(
    container: "iCloud.org.example.Trails", environment: .development)
private let address = DatabaseAddress(container, .private(owner: "_alice"))

/// What is particular to a folder: durability, locks, damage, a full disk, open files.
@Suite struct SQLiteStorageEngineTests {
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

    /// What a killed process leaves: the files as they are at one moment, with the log not yet moved.
    /// What a power cut leaves is in PowerCutTests.
    @Test func copyOfOpenFilesHasAllAcknowledgedWrites() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            _ = try await fill(storage.store(for: address), names: ["a", "b"])
            let copy = folder + "-copy"
            try FileManager.default.copyItem(atPath: folder, toPath: copy)
            defer {
                // The temporary folder is the system's to clean where this fails.
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
            // The event to wait for is the file's growth; nothing announces it.
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

    // MARK: What is refused

    @Test func secondServiceOfAFolderIsRefused() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            #expect(refusal { _ = try SQLiteStorageEngine(folder: folder) } == .inUse)
            try await storage.close()
            try await SQLiteStorageEngine(folder: folder).close()
        }
    }

    @Test func serviceNoticesChangesByCommands() async throws {
        try await withTemporaryFolder { folder in
            let service = try SQLiteStorageEngine(folder: folder)
            let before = try await service.directory.changesByOthers()
            _ = try await service.directory.insert(UserRow(recordName: "_own", name: "own"))
            #expect(try await service.directory.changesByOthers() == before)

            let command = try SQLiteStorageEngine(folder: folder, access: .beside)
            _ = try await command.directory.insert(UserRow(recordName: "_other", name: "other"))
            try await command.close()
            #expect(try await service.directory.changesByOthers() != before)
            #expect(try await service.directory.user(named: "other")?.recordName == "_other")
            // The command did not take the lock with it.
            #expect(refusal { _ = try SQLiteStorageEngine(folder: folder) } == .inUse)
            try await service.close()
        }
    }

    @Test func unwritableFolderIsRefused() async throws {
        try await withTemporaryFolder { folder in
            // Under a file there can be no folder, for root neither.
            try Data("a file".utf8).write(to: URL(fileURLWithPath: folder))
            #expect(
                refusal { _ = try SQLiteStorageEngine(folder: folder + "/data") } == .notWritable)
        }
    }

    /// Anybody who opens enough connections can bring this about; it must not stop the service.
    @Test func exhaustedFileDescriptorsReturnBusy() async throws {
        for code in [EMFILE, ENFILE] {
            let error = StorageError.translating(errno: code, path: "/data")
            #expect(error.code == .busy)
            #expect(!error.stopsService)
        }
        try await withTemporaryFolder { folder in
            let file = try await databaseFile(in: folder)
            let refusal = DatabaseError(resultCode: .SQLITE_CANTOPEN)
            for path in [file, folder + "/none.sqlite"] {
                let error = StorageError.translating(refusal, path: path) as? StorageError
                #expect(error?.code == .busy)
            }
            let error = StorageError.translating(refusal, path: folder + "/none/none.sqlite")
            #expect((error as? StorageError)?.code == .notWritable)
        }
    }

    @Test func folderOfANewerFormatIsRefused() async throws {
        try await withTemporaryFolder { folder in
            try await SQLiteStorageEngine(folder: folder).close()
            try Data("stratus data 2\n".utf8).write(
                to: URL(fileURLWithPath: folder + "/format"))
            #expect(refusal { _ = try SQLiteStorageEngine(folder: folder) } == .unknownFormat)
        }
    }

    @Test func fileOfANewerFormatIsRefusedUntouched() async throws {
        try await withTemporaryFolder { folder in
            let file = try await databaseFile(in: folder)
            try await edit(file) { try $0.execute(sql: "PRAGMA user_version = 99") }
            let bytes = FileManager.default.contents(atPath: file)
            let storage = try SQLiteStorageEngine(folder: folder)
            #expect(await storeRefusal(storage) == .unknownFormat)
            #expect(FileManager.default.contents(atPath: file) == bytes)
            try await storage.close()
        }
    }

    @Test func databasesOfOtherProgramsAreRefused() async throws {
        try await withTemporaryFolder { folder in
            let file = try await databaseFile(in: folder)
            try FileManager.default.removeItem(atPath: file)
            try await edit(file) { try $0.execute(sql: "CREATE TABLE theirs (x)") }
            chmod(file, 0o600)
            let storage = try SQLiteStorageEngine(folder: folder)
            #expect(await storeRefusal(storage) == .unknownFormat)
            try Data(repeating: 0x20, count: 5_000).write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
            #expect(await storeRefusal(storage) == .unknownFormat)
            // A file in the wrong place: the directory's where records are expected.
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.copyItem(atPath: folder + "/directory.sqlite", toPath: file)
            chmod(file, 0o600)
            #expect(await storeRefusal(storage) == .unknownFormat)
            try await storage.close()
        }
    }

    @Test func damagedFileIsReported() async throws {
        try await withTemporaryFolder { folder in
            let file = try await databaseFile(in: folder)
            var bytes = try #require(FileManager.default.contents(atPath: file))
            for index in 4_096..<bytes.count { bytes[index] = 0xFF }
            try bytes.write(to: URL(fileURLWithPath: file))
            let storage = try SQLiteStorageEngine(folder: folder)
            let code = await code {
                let store = try await storage.store(for: address)
                _ = try await store.read { try $0.zones() }
            }
            #expect(code == .corrupt)
            try await storage.close()
        }
    }

    // MARK: A full disk

    @Test func fullDiskFailsTheWriteAndKeepsAcknowledgedOnes() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let store = try await storage.store(for: address)
            _ = try await fill(store, names: ["kept"])
            let zone = try #require(try await store.read { try $0.zone(named: "Trails") }).key
            try await limitPages(of: storage, toFreePages: 40)

            // Many at once, so that the full disk hits some that share a commit.
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

            // With room again, the versions go on without a gap.
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

    private func fill(_ store: any RecordStore, names: [String]) async throws -> Epoch {
        try await store.writeRecords { writer in
            let zone = try writer.createZone(named: "Trails", hasFeed: true).key
            let versions = try writer.takeVersions(names.count, in: zone)
            for (name, version) in zip(names, versions) {
                try writer.put(record(name, zone, version, payload: 200))
            }
            return try writer.epoch
        }
    }

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

    /// A closed storage with one database, and the path of its file.
    private func databaseFile(in folder: String) async throws -> String {
        let storage = try SQLiteStorageEngine(folder: folder)
        _ = try await fill(storage.store(for: address), names: ["a"])
        try await storage.close()
        return DataFolder.path(of: address, in: folder)
    }

    private func edit(
        _ file: String, _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        let queue = try DatabaseQueue(path: file)
        try await queue.write(body)
        try queue.close()
    }

    /// Opens a folder whose last user was dropped a moment ago and may still be letting go.
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

    private func storeRefusal(_ storage: SQLiteStorageEngine) async -> StorageError.Code? {
        await code { _ = try await storage.store(for: address) }
    }

    private func refusal(_ body: () throws -> Void) -> StorageError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StorageError)?.code ?? StorageError.Code(rawValue: "\(error)")
        }
    }

    private func code(_ body: () async throws -> Void) async -> StorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StorageError)?.code ?? StorageError.Code(rawValue: "\(error)")
        }
    }
}

private func record(
    _ name: String, _ zone: ZoneRow.Key, _ version: Int64, payload: Int
) -> RecordRow {
    RecordRow(
        zone: zone, name: name, type: "Trail", version: version, commitVersion: version,
        changeTag: "\(version)", isDeleted: false, creatorDevice: "phone", createdMilliseconds: 1,
        modifiedMilliseconds: 2, creator: "_alice", modifier: "_alice", modifierDevice: "phone",
        parent: nil, shareRoot: nil, payload: [UInt8](repeating: 7, count: payload))
}

/// Files of assets beside the databases.
@Suite struct AssetFileTests {
    private static let address = DatabaseAddress(
        ContainerAddress(container: "c", environment: .production), .private(owner: "_a"))

    @Test func blobIsStoredUnderItsDigestBesideItsDatabase() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            _ = try await storage.store(for: Self.address)
            let blobs = try await storage.blobs(for: Self.address)
            let name = BlobName(
                sha256: [0xAB, 0x01] + Array(repeating: 0xFF, count: 30), generation: 7)
            let writer = try await blobs.begin()
            try await writer.write([1])
            let incoming = {
                try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming")
            }
            #expect(try incoming().count == 1)
            try await writer.keep(as: name, atMilliseconds: 0)
            #expect(try incoming().isEmpty)
            let path =
                "\(folder)/databases/c/production/_a.assets/ab/01/ab01"
                + String(repeating: "ff", count: 30) + ".0000000000000007"
            #expect(FileManager.default.contents(atPath: path) == Data([1]))
            #expect(try await storage.databases() == [Self.address])
            #expect(try await storage.databasesWithBlobs() == [Self.address])
            #expect(try await storage.check().findings.isEmpty)
            try await storage.close()
        }
    }

    private func withUpload(
        _ body: (_ folder: String, SQLiteStorageEngine, any BlobWriter) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            try await body(folder, storage, storage.blobs(for: Self.address).begin())
        }
    }

    /// A service that starts removes what a crash cut short; a command beside it must not.
    @Test func unfinishedUploadsAreSweptByTheServiceAlone() async throws {
        try await withUpload { folder, storage, writer in
            try await writer.write([1])
            let incoming = {
                try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming")
            }
            let beside = try SQLiteStorageEngine(folder: folder, access: .beside)
            try await beside.close()
            #expect(try incoming().count == 1)
            try await storage.close()
            let next = try SQLiteStorageEngine(folder: folder)
            #expect(try incoming().isEmpty)
            try await next.close()
        }
    }

    /// Else a collection would take the assets of a database that is about to be restored.
    @Test func assetsWithoutTheirDatabaseAreKept() async throws {
        try await withUpload { folder, storage, writer in
            try await writer.keep(
                as: BlobName(sha256: Array(repeating: 1, count: 32), generation: 1),
                atMilliseconds: 0)
            #expect(try await storage.databasesWithBlobs().isEmpty)
            _ = try await storage.store(for: Self.address)
            #expect(try await storage.databasesWithBlobs() == [Self.address])
            try await storage.close()
        }
    }

    @Test func discardedUploadLeavesNothing() async throws {
        try await withUpload { folder, storage, writer in
            try await writer.write([1])
            await writer.discard()
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
            await #expect(throws: StorageError.self) { try await writer.write([2]) }
            try await storage.close()
        }
    }

    #if os(Linux)
        /// A full disk ends the upload and not the service.
        @Test func fullDiskRefusesTheAsset() async throws {
            let error = StorageError.blob(errno: ENOSPC, path: "x")
            #expect(error.code == .noRoom)
            #expect(!error.stopsService)
        }
    #endif
}
