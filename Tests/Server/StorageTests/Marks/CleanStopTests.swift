import Foundation
import StratusRecords
import StratusStorage
import Testing

/// The files that a stopped service leaves on the disk.
@Suite struct CleanStopTests {
    @Test func cleanStopLeavesNoLog() async throws {
        try await withMarkedFolder { folder in
            let saved = try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                let saved = try await MarkedFolder.save(["a", "b"], to: store)
                // A reading connection too, which must not be the last one to close.
                #expect(try await MarkedFolder.lookUp(["a", "b"], in: store) == saved)
                return saved
            }
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(names.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") } == [])
            // The file contains all data without its log.
            let copy = MarkedFolder(folder.path + "/copy")
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: copy.file(of: MarkedFolder.alice))
                    .deletingLastPathComponent().path, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: folder.path + "/directory.sqlite", toPath: copy.path + "/directory.sqlite")
            try FileManager.default.copyItem(
                atPath: folder.file(of: MarkedFolder.alice),
                toPath: copy.file(of: MarkedFolder.alice))
            try makePrivate(copy.path)
            let found = try await copy.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await MarkedFolder.lookUp(["a", "b"], in: store)
            }
            #expect(found == saved)
        }
    }
}
