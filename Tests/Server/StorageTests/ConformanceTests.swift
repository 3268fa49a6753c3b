import Foundation
import StratusStorage
import StratusTesting
import Testing

@Suite struct ConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func memoryKeeps(_ promise: StoreConformance.Case) async throws {
        try await promise.run(MemoryStorehouse())
    }

    @Test(arguments: StoreConformance.cases)
    func sqliteKeeps(_ promise: StoreConformance.Case) async throws {
        try await withTemporaryFolder { folder in
            let house = try SQLiteStorehouse(folder: folder)
            try await promise.run(house)
            // A second time for the case that closes it itself.
            try await house.close()
        }
    }

    /// Files that are closed and opened again between any two requests keep the same promises.
    @Test(arguments: StoreConformance.cases)
    func sqliteKeepsWithOneOpenFile(_ promise: StoreConformance.Case) async throws {
        try await withTemporaryFolder { folder in
            var limits = StorageLimits()
            limits.openDatabases = 1
            limits.writesPerCommit = 3
            limits.logPagesBeforeCheckpoint = 1
            limits.logPagesBeforeForcedCheckpoint = 4
            let house = try SQLiteStorehouse(folder: folder, limits: limits)
            try await promise.run(house)
            try await house.close()
        }
    }
}

/// Runs `body` with a folder that is removed afterwards.
func withTemporaryFolder<Outcome>(
    _ body: (String) async throws -> Outcome
) async throws -> Outcome {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-\(UUID().uuidString)").path
    defer {
        // Nothing is there when the folder was never made.
        try? FileManager.default.removeItem(atPath: folder)
    }
    return try await body(folder)
}
