import Foundation
import StratusStorage
import StratusTesting
import Testing

/// The engine fulfils the contract of a store, both in a folder and in memory.
@Suite struct ConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func engineInMemoryConforms(_ promise: StoreConformance.Case) async throws {
        try await promise.run(SQLiteStorageEngine.inMemory())
    }

    /// The second run uses the connections that the first one left open.
    @Test(arguments: StoreConformance.cases)
    func engineWithReusedConnectionsConforms(_ promise: StoreConformance.Case) async throws {
        let spares = SpareDatabases()
        for _ in 0..<2 {
            try await promise.run(SQLiteStorageEngine.inMemory(world: .live, spares: spares))
        }
    }

    @Test(arguments: StoreConformance.cases + StoreConformance.snapshotCases)
    func engineInAFolderConforms(_ promise: StoreConformance.Case) async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            try await promise.run(storage)
            // A second time, for the case that closes it.
            try await storage.close()
        }
    }

    /// The same with files that are closed and reopened between any two requests.
    @Test(arguments: StoreConformance.cases + StoreConformance.snapshotCases)
    func engineWithOneOpenFileConforms(_ promise: StoreConformance.Case) async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(
                folder: folder,
                limits: .with {
                    $0.openDatabases = 1
                    $0.writesPerCommit = 3
                    $0.logPagesBeforeCheckpoint = 1
                    $0.logPagesBeforeForcedCheckpoint = 4
                })
            try await promise.run(storage)
            try await storage.close()
        }
    }
}

/// Gives a folder and its contents the permissions that a data folder must have.
func makePrivate(_ path: String) throws {
    for name in [""] + (try FileManager.default.subpathsOfDirectory(atPath: path)) {
        chmod(path + "/" + name, 0o700)
    }
}

/// Runs `body` with a folder that is removed afterwards.
func withTemporaryFolder<Outcome>(
    isMade: Bool = false, _ body: (String) async throws -> Outcome
) async throws -> Outcome {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-\(UUID().uuidString)").path
    defer {
        // There is nothing to remove if the folder was never created.
        try? FileManager.default.removeItem(atPath: folder)
    }
    if isMade {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    return try await body(folder)
}
