import Foundation
import StratusRuntime
import Synchronization
import Testing

@testable import StratusClient

/// Asset files are cleaned up, but not while a process uses them.
@Suite struct AssetFolderTests {
    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test func unusedFileIsDeletedAfterGracePeriod() throws {
        let scratch = try Scratch()
        let clock = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        let folder = AssetFolder(
            parent: scratch.folder,
            world: World(nowMilliseconds: {
                clock.withLock { Int64($0.timeIntervalSince1970 * 1_000) }
            }))
        let asset = CKAsset(.init(downloadURL: "x"), in: nil)
        let url = try {
            let file = try folder.makeFile()
            asset.adopt(file)
            let other = CKAsset(.init(downloadURL: "x"), in: nil)
            other.adopt(try folder.makeFile())
            return try #require(other.fileURL)
        }()
        _ = try folder.makeFile()
        #expect(FileManager.default.fileExists(atPath: url.path))
        clock.withLock { $0 += AssetFolder.graceSeconds }
        _ = try folder.makeFile()
        #expect(!FileManager.default.fileExists(atPath: url.path))
        #expect(FileManager.default.fileExists(atPath: try #require(asset.fileURL).path))
    }

    /// The folder was removed, as cleaners of temporary files do.
    @Test func removedFolderIsRecreated() throws {
        let scratch = try Scratch()
        let folder = AssetFolder(parent: scratch.folder)
        let first = try folder.makeFile().url.deletingLastPathComponent()
        try FileManager.default.removeItem(at: first)
        let file = try folder.makeFile()
        #expect(FileManager.default.fileExists(atPath: file.url.path))
        // The new folder is locked like the first one: no other process takes it for an orphan.
        _ = try AssetFolder(parent: scratch.folder).makeFile()
        #expect(FileManager.default.fileExists(atPath: file.url.path))
    }

    @Test func folderIsKeptWhenFileCannotBeMade() throws {
        let scratch = try Scratch()
        let names = [UUID(), UUID()]
        let count = Mutex(0)
        let folder = AssetFolder(
            parent: scratch.folder,
            world: World(randomBytes: { _ in
                let place = count.withLock { count in
                    count += 1
                    return count
                }
                // The name of the folder, then three times the same name of a file.
                let name = place == 1 ? names[0] : place < 5 ? names[1] : UUID()
                return withUnsafeBytes(of: name.uuid) { [UInt8]($0) }
            }))
        let url = try folder.makeFile().url
        // No file can be created where a folder is.
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        #expect(throws: CKError(.assetNotAvailable)) { try folder.makeFile() }
        let next = try folder.makeFile().url
        #expect(next.deletingLastPathComponent() == url.deletingLastPathComponent())
    }

    /// There are more blocked copies than threads for tasks.
    @Test(.timeLimit(.minutes(20))) func slowFileCopyBlocksNoTask() async throws {
        let scratch = try Scratch()
        let folder = AssetFolder(parent: scratch.folder)
        let state = try AssetFileState(try scratch.file("any", bytes: 1))
        let pipes = (0...ProcessInfo.processInfo.activeProcessorCount).map {
            scratch.folder.appendingPathComponent("pipe-\($0)")
        }
        for pipe in pipes { #expect(mkfifo(pipe.path, 0o600) == 0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pipe in pipes {
                group.addTask {
                    // A pipe is not an asset file, but this is only known after reading it.
                    await #expect(throws: CKError(.assetNotAvailable)) {
                        try await folder.copied(pipe, expected: state)
                    }
                }
            }
            // The other tasks start first, and wait for a writer.
            for _ in 0..<100 { await Task.yield() }
            for pipe in pipes { try FileHandle(forWritingTo: pipe).close() }
            try await group.waitForAll()
        }
    }

    @Test func foldersOfEndedProcessesAreRemoved() throws {
        let scratch = try Scratch()
        let living = AssetFolder(parent: scratch.folder)
        let file = try living.makeFile()
        do {
            _ = try AssetFolder(parent: scratch.folder).makeFile()
        }
        #expect(try names(in: scratch.folder).count == 2)
        let next = AssetFolder(parent: scratch.folder)
        _ = try next.makeFile()
        // The folder whose process has ended is gone; the folder in use and the new one remain.
        #expect(try names(in: scratch.folder).count == 2)
        #expect(FileManager.default.fileExists(atPath: file.url.path))
        let mode = try FileManager.default.attributesOfItem(atPath: file.url.path)[
            .posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
    }
}
