import Foundation
import StratusRecords
import TestProcesses
import Testing

@testable import StratusStorage

private let address = DatabaseAddress(
    ContainerAddress(container: "iCloud.org.example.Trails", environment: .production),
    .private(owner: "_alice"))

/// Only the service's user may read or write the data.
@Suite(.serialized) struct FileRightsTests {
    /// Creates every kind of file of the storage engine, with a umask that would let others write.
    private func fill(_ folder: String, umask mask: mode_t) async throws {
        let before = umask(mask)
        defer { umask(before) }
        let storage = try SQLiteStorageEngine(folder: folder + "/data")
        let store = try await storage.store(for: address)
        try await store.writeRecords { try $0.enqueue([1]) }
        _ = try await store.read(.zone) { try $0.zones().count }
        let blob = try await storage.blobs(for: address).begin()
        try await blob.write([1])
        try await blob.keep(
            as: BlobName(sha256: Array(repeating: 1, count: 32), generation: 1),
            atMilliseconds: 0)
        let unfinished = try await storage.blobs(for: address).begin()
        try await unfinished.write([1])
        #expect(try exposed(below: folder + "/data") == [])
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).count > 15)
        await unfinished.discard()
        try await storage.close()
    }

    private func exposed(below folder: String) throws -> [String] {
        try ([""] + FileManager.default.subpathsOfDirectory(atPath: folder)).filter { name in
            var status = stat()
            guard stat(folder + "/" + name, &status) == 0 else { return false }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            return status.st_mode & 0o777 != (isFolder ? 0o700 : 0o600)
        }
    }

    @Test(arguments: [0, 0o022] as [mode_t])
    func filesAreReadableByOwnerOnlyUnderAnyUmask(_ mask: mode_t) async throws {
        try await withTemporaryFolder { try await fill($0, umask: mask) }
    }

    @Test(arguments: [
        "", "/directory.sqlite", "/format", "/databases", "/databases/*",
        "/databases/*/production/_alice.assets/01",
        "/databases/*/production/_alice.assets/01/01/*",
    ])
    func exposedFolderIsRefusedWithChmodCommand(_ name: String) async throws {
        try await withTemporaryFolder { folder in
            try await fill(folder, umask: 0)
            let data = folder + "/data"
            var path = data
            for part in name.split(separator: "/") {
                let names = try FileManager.default.contentsOfDirectory(atPath: path)
                path += "/" + (part == "*" ? try #require(names.first) : String(part))
            }
            chmod(path, 0o740)
            let error = #expect(throws: StorageError.self) {
                try SQLiteStorageEngine(folder: data)
            }
            #expect(error?.code == .exposed)
            #expect(error?.message.hasSuffix("Run: chmod -R go-rwx \(data)") == true)
            // The suggested command works.
            let command = String(error?.message.split(separator: "Run: ").last ?? "")
            #expect(try ChildProcess(["/bin/sh", "-c", command]).end() == 0)
            try await SQLiteStorageEngine(folder: data).close()
        }
    }

    @Test func exposedDatabaseIsRefusedAndOthersAreServed() async throws {
        try await withTemporaryFolder { folder in
            try await fill(folder, umask: 0)
            let file = DataFolder.path(of: address, in: folder + "/data")
            chmod(file, 0o604)
            let storage = try SQLiteStorageEngine(folder: folder + "/data")
            let error = await #expect(throws: StorageError.self) {
                _ = try await storage.store(for: address)
            }
            #expect(error?.code == .exposed)
            #expect(error?.database == address)
            #expect(storage.condition.damagedDatabases == 1)
            var other = address
            other.tenant = .public
            _ = try await storage.store(for: other)
            chmod(file, 0o600)
            _ = try await storage.store(for: address)
            #expect(storage.condition.damagedDatabases == 0)
            try await storage.close()
        }
    }
}
