import FaultFiles
import Foundation
import StratusRecords
import Testing

@testable import StratusStorage

/// A process that ends while it creates a data folder and a database leaves nothing that is refused later.
@Suite struct UnfinishedDatabaseTests {
    enum End: CaseIterable, Sendable {
        case killed, powerCut
    }

    /// Interrupts before every seventh write or synchronisation, until none is left; a transaction has more of
    /// them.
    @Test(.timeLimit(.minutes(20)), arguments: End.allCases)
    func newDatabaseInterruptedBeforeAnyWriteOpens(_ end: End) async throws {
        var writes = 0
        while try await Self.isServedAfter(end, before: writes) { writes += 7 }
        // The directory and a database with their tables, and a save. Fewer steps would mean that none was interrupted.
        #expect(writes > 20)
    }

    private final class Copy {
        var isMade = false
        var error: (any Error)?
    }

    /// - Returns: Whether there were more writes and synchronisations than `count`.
    private static func isServedAfter(_ end: End, before count: Int) async throws -> Bool {
        try await withTemporaryFolder { copy in
            let made = try await withTemporaryFolder { path in
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
                let disk = FaultFolder(path)
                let made = Copy()
                disk.interrupt([fault_write, fault_sync], after: count) {
                    made.isMade = true
                    do {
                        switch end {
                        case .killed: try disk.kill(to: copy)
                        case .powerCut: try disk.cut(to: copy, fault_cut_forgets)
                        }
                    } catch {
                        made.error = error
                    }
                }
                try await saveOne(in: path)
                disk.interruptNoMore()
                if let error = made.error { throw error }
                return made.isMade
            }
            if made { try await saveOne(in: copy) }
            return made
        }
    }

    private static func saveOne(in path: String) async throws {
        try await MarkedFolder(path).withStorage { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            _ = try await MarkedFolder.save(["one"], to: store)
            #expect(try await storage.check().findings == [])
        }
    }
}
