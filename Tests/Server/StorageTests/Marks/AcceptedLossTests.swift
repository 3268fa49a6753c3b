import Foundation
import StratusRecords
import Testing

@testable import StratusStorage

/// A refused database is used again in its present state once an operator accepts the loss.
@Suite struct AcceptedLossTests {
    @Test func acceptedLossBeginsNewEpoch() async throws {
        try await withMarkedFolder { folder in
            let file = folder.file(of: MarkedFolder.alice)
            let (earlier, epoch) = try await Self.behind(folder)
            #expect(try await Self.refusal(folder) == .corrupt)
            let losses = try await SQLiteStorageEngine.acceptLosses(of: file, inFolder: folder.path)
            #expect(losses.map(\.path) == [file])
            #expect(losses.first?.commits == 2)
            #expect(
                losses.first?.description.contains("has 3 commits fewer than") == true,
                "\(losses)")
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                #expect(try await MarkedFolder.fetchChanges(in: store) == earlier)
                #expect(try await store.read { try $0.epoch } != epoch)
                _ = try await MarkedFolder.save(["later"], to: store)
                #expect(try await storage.check().findings == [])
            }
            // No loss is left to accept, and new commits are marked again.
            #expect(
                try await SQLiteStorageEngine.acceptLosses(of: file, inFolder: folder.path) == [])
            try MarkedFolder.write(Data(), to: file)
            #expect(try await Self.refusal(folder) == .corrupt)
        }
    }

    @Test func missingDatabaseIsAcceptedAsEmptyOne() async throws {
        try await withMarkedFolder { folder in
            _ = try await Self.behind(folder)
            let file = folder.file(of: MarkedFolder.alice)
            try FileManager.default.removeItem(atPath: file)
            try await folder.withStorage { storage in
                let check = try await storage.check()
                #expect(check.findings.map(\.path) == [file])
            }
            // While a service uses the folder.
            try await folder.withStorage { storage in
                #expect(
                    await Self.code { _ = try await storage.store(for: MarkedFolder.alice) } != nil)
                let losses = try await SQLiteStorageEngine.acceptLosses(
                    of: file, inFolder: folder.path)
                #expect(losses.count == 1)
                let store = try await storage.store(for: MarkedFolder.alice)
                #expect(try await MarkedFolder.fetchChanges(in: store) == [:])
            }
        }
    }

    @Test func everyLossIsAcceptedTogether() async throws {
        try await withMarkedFolder { folder in
            _ = try await Self.behind(folder)
            try FileManager.default.removeItem(atPath: folder.path + "/directory.sqlite")
            try MarkedFolder.write(
                Data(repeating: 7, count: 64),
                to: folder.file(of: MarkedFolder.bob).replacing(".sqlite", with: ".mark"))
            #expect(throws: StorageError.self) { try SQLiteStorageEngine(folder: folder.path) }
            let losses = try await SQLiteStorageEngine.acceptLosses(of: nil, inFolder: folder.path)
            #expect(
                losses.map(\.path) == [
                    folder.path + "/directory.sqlite", folder.file(of: MarkedFolder.alice),
                    folder.file(of: MarkedFolder.bob),
                ])
            try await folder.withStorage { storage in
                for address in [MarkedFolder.alice, MarkedFolder.bob] {
                    _ = try await storage.store(for: address)
                }
                #expect(try await storage.check().findings == [])
            }
        }
    }

    @Test func fileOfAnotherFolderIsNotAccepted() async throws {
        try await withMarkedFolder { folder in
            _ = try await Self.behind(folder)
            let code = await Self.code {
                _ = try await SQLiteStorageEngine.acceptLosses(
                    of: folder.path + "/other.sqlite", inFolder: folder.path)
            }
            #expect(code == .other)
            #expect(try await Self.refusal(folder) == .corrupt)
        }
    }

    // MARK: -

    /// Replaces Alice's file by an older copy and keeps the newer mark: two of five commits.
    private static func behind(
        _ folder: MarkedFolder
    ) async throws -> (earlier: [String: [UInt8]], epoch: Epoch) {
        let file = folder.file(of: MarkedFolder.alice)
        let (earlier, epoch) = try await folder.withStorage { storage in
            _ = try await storage.store(for: MarkedFolder.bob)
            let store = try await storage.store(for: MarkedFolder.alice)
            return (
                try await MarkedFolder.save(["a", "b"], to: store),
                try await store.read { try $0.epoch }
            )
        }
        let copy = try Data(contentsOf: URL(fileURLWithPath: file))
        try await folder.withStorage { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            _ = try await MarkedFolder.save(["c", "d", "e"], to: store)
        }
        try folder.put([file: copy], of: MarkedFolder.alice)
        return (earlier, epoch)
    }

    private static func refusal(_ folder: MarkedFolder) async throws -> StorageError.Code? {
        try await folder.withStorage { storage in
            await code { _ = try await storage.store(for: MarkedFolder.alice) }
        }
    }

    private static func code(_ body: () async throws -> Void) async -> StorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StorageError)?.code ?? StorageError.Code(rawValue: "\(error)")
        }
    }
}
