import Foundation
import GRDB
import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// Folders that a service refuses to open: in use, not writable, of another format, damaged.
@Suite struct RefusedFolderTests: StorageEngineFixture {
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
            // The command did not remove the lock.
            #expect(refusal { _ = try SQLiteStorageEngine(folder: folder) } == .inUse)
            try await service.close()
        }
    }

    @Test func unwritableFolderIsRefused() async throws {
        try await withTemporaryFolder { folder in
            // No folder can be created below a file, not even by root.
            try Data("a file".utf8).write(to: URL(fileURLWithPath: folder))
            #expect(
                refusal { _ = try SQLiteStorageEngine(folder: folder + "/data") } == .notWritable)
        }
    }

    /// Any client that opens enough connections can cause this; it must not stop the service.
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
            // A file in the wrong place: the directory's in place of a record file.
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

    // MARK: -

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
}
