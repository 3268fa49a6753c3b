import Foundation
import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// Files of assets next to the databases.
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

    /// A starting service removes the uploads that a crash interrupted; a command that runs next to it must not.
    @Test func unfinishedUploadsAreRemovedByTheServiceOnly() async throws {
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

    /// Otherwise a collection would remove the assets of a database that is about to be restored.
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

    /// The assets of one database cannot be read: all others are served.
    @Test func unusableAssetFolderDoesNotStopTheService() async throws {
        try await withUpload { folder, storage, writer in
            let assets = folder + "/databases/c/production/_a.assets"
            try FileManager.default.createDirectory(
                atPath: assets, withIntermediateDirectories: true)
            // A file in a folder's place: not even root can open anything in it.
            try Data().write(to: URL(fileURLWithPath: assets + "/ab"))
            let blobs = try await storage.blobs(for: Self.address)
            let name = BlobName(
                sha256: [0xAB, 0x01] + Array(repeating: 0xFF, count: 30), generation: 7)
            let opening = await #expect(throws: StorageError.self) {
                _ = try await blobs.open(name)
            }
            let keeping = await #expect(throws: StorageError.self) {
                try await writer.keep(as: name, atMilliseconds: 0)
            }
            let listing = await #expect(throws: StorageError.self) {
                _ = try await blobs.blobs(beginningWith: 0xAB)
            }
            #expect([opening, keeping, listing].allSatisfy { $0?.stopsService == false })
            await writer.discard()
            try await storage.close()
        }
    }

    #if os(Linux)
        /// A full disk fails the upload, not the service.
        @Test func fullDiskRefusesTheAsset() async throws {
            let error = StorageError.blob(errno: ENOSPC, path: "x")
            #expect(error.code == .assetDiskFull)
            #expect(!error.stopsService)
        }
    #endif
}
