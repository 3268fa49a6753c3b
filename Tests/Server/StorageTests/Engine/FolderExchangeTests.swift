import Foundation
import StratusRecords
import Synchronization
import Testing

@testable import StratusStorage

/// A restore that is interrupted at any of its steps leaves either the old content or the restored one.
@Suite struct FolderExchangeTests {
    private struct Ended: Error {}

    /// Creates a folder with the old record, and the new content next to it.
    private func stage(_ path: String) async throws {
        for (folder, name) in [(path, "old"), (path + "/restoring", "new")] {
            try await MarkedFolder(folder).withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save([name], to: store)
            }
        }
        try FileManager.default.removeItem(atPath: path + "/restoring/lock")
    }

    /// - Returns: Whether the exchange was completed.
    private func exchange(_ path: String, endingBefore end: Int) throws -> Bool {
        let steps = Mutex(0)
        do {
            let lock = try FolderLock(path)
            defer { withExtendedLifetime(lock) {} }
            try FolderExchange(path) {
                try steps.withLock { steps in
                    if steps == end { throw Ended() }
                    steps += 1
                }
            }.begin(aside: "replaced-then")
            return true
        } catch is Ended {
            return false
        }
    }

    private func names(_ path: String) async throws -> Set<String> {
        try await MarkedFolder(path).withStorage { storage in
            let check = try await storage.check()
            #expect(check.findings == [])
            let store = try await storage.store(for: MarkedFolder.alice)
            return try await Set(MarkedFolder.fetchChanges(in: store).keys)
        }
    }

    @Test func interruptedExchangeLeavesOldOrNew() async throws {
        var isComplete = false
        var step = 0
        var outcomes: [Set<String>] = []
        while !isComplete {
            try await withTemporaryFolder { path in
                try await stage(path)
                isComplete = try exchange(path, endingBefore: step)
                let beside = Result { try SQLiteStorageEngine(folder: path, access: .beside) }
                // No command may work on a half-exchanged folder.
                if case .success(let storage) = beside { try await storage.close() }
                let found = try await names(path)
                outcomes.append(found)
                guard found == ["new"] else { return }
                // The old content is complete, too.
                let old = path + "/replaced-then"
                #expect(try await names(old) == ["old"], "\(step)")
            }
            step += 1
        }
        // The format file is written first; until then the folder has the old content.
        #expect(step > 8)
        #expect(outcomes.first == ["old"] && outcomes.last == ["new"])
        let firstNew = try #require(outcomes.firstIndex(of: ["new"]))
        #expect(outcomes[..<firstNew].allSatisfy { $0 == ["old"] })
        #expect(outcomes[firstNew...].allSatisfy { $0 == ["new"] })
        #expect(firstNew <= 2)
    }

    /// A file system's `lost+found` cannot be moved by the service's user: the restore could never be completed.
    @Test func filesOfOthersStayInTheFolder() async throws {
        try await withTemporaryFolder { path in
            try await stage(path)
            try FileManager.default.createDirectory(
                atPath: path + "/lost+found", withIntermediateDirectories: false)
            #expect(try exchange(path, endingBefore: .max))
            #expect(FileManager.default.fileExists(atPath: path + "/lost+found"))
            #expect(try await names(path) == ["new"])
            #expect(try await names(path + "/replaced-then") == ["old"])
        }
    }

    /// A command that may run next to a service completes no restore, and its error says what does.
    @Test func commandBesideServiceIsRefusedDuringInterruptedRestore() async throws {
        try await withTemporaryFolder { path in
            try await stage(path)
            #expect(try !exchange(path, endingBefore: 4))
            let error = #expect(throws: StorageError.self) {
                try SQLiteStorageEngine(folder: path, access: .beside)
            }
            #expect(
                error?.message.hasPrefix("A restore of the data folder was interrupted.") == true)
            #expect(try await names(path) == ["new"])
        }
    }
}
