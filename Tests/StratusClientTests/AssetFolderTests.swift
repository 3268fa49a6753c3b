import Foundation
import Synchronization
import Testing

@testable import StratusClient

/// Files of assets are cleaned up, but not under somebody's hands.
@Suite struct AssetFolderTests {
    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test func aFileGoesSomeTimeAfterItsAsset() throws {
        let scratch = try Scratch()
        let clock = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        let folder = AssetFolder(parent: scratch.folder, now: { clock.withLock { $0 } })
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

    @Test func foldersOfEndedProcessesGo() throws {
        let scratch = try Scratch()
        let living = AssetFolder(parent: scratch.folder)
        let file = try living.makeFile()
        do {
            _ = try AssetFolder(parent: scratch.folder).makeFile()
        }
        #expect(try names(in: scratch.folder).count == 2)
        let next = AssetFolder(parent: scratch.folder)
        _ = try next.makeFile()
        // The one whose lock nobody holds is gone; the living and the new one are there.
        #expect(try names(in: scratch.folder).count == 2)
        #expect(FileManager.default.fileExists(atPath: file.url.path))
        let mode = try FileManager.default.attributesOfItem(atPath: file.url.path)[
            .posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
    }
}
