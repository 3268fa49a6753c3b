import Foundation
import InMemoryLogging
import Logging
import Synchronization
import Testing

@testable import StratusStorage

/// The reserve file for a full disk, on a disk whose free space the test sets.
@Suite struct DiskReserveTests {
    @Test func reserveIsReleasedAndAllocatedAgain() async throws {
        try await withTemporaryFolder(isMade: true) { (folder) throws in
            let handler = InMemoryLogHandler()
            let free = Mutex<Int64>(100_000_000)
            let reserve = DiskReserve(
                folder: folder, bytes: 1_000_000, freeBytes: { free.withLock { $0 } },
                logger: Logger(label: "test") { _ in handler })
            let file = folder + "/reserve"
            #expect(try size(of: file) == 1_000_000)
            #expect(!reserve.isReadOnly)

            // A write may run out of space for another reason: the maximum size of its file.
            #expect(!reserve.noteFull())
            #expect(!reserve.isReadOnly)

            free.withLock { $0 = 0 }
            #expect(reserve.noteFull())
            #expect(!reserve.noteFull())
            #expect(reserve.isReadOnly)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(throws: StorageError.self) { try reserve.admitFile(folder + "/new.sqlite") }
            try reserve.admitFile(folder)

            // The space that the reserve released does not count as free yet.
            free.withLock { $0 = 1_500_000 }
            #expect(reserve.isReadOnly)
            free.withLock { $0 = 8_000_000 }
            #expect(!reserve.isReadOnly)
            #expect(try size(of: file) == 1_000_000)
            try reserve.admitFile(folder + "/new.sqlite")
            #expect(handler.entries.count == 2)
        }
    }

    /// The user's quota is used up, while the disk has space.
    @Test func usedUpQuotaIsAFullDisk() async throws {
        try await withTemporaryFolder(isMade: true) { (folder) throws in
            let left = Mutex<Int64>(.max)
            let reserve = DiskReserve(
                folder: folder, bytes: 1_000_000, freeBytes: { 100_000_000 },
                takes: { bytes in left.withLock { bytes <= $0 } },
                logger: Logger(label: "test") { _ in InMemoryLogHandler() })
            left.withLock { $0 = 1_999_999 }
            #expect(reserve.noteFull())
            #expect(reserve.isReadOnly)
            #expect(!FileManager.default.fileExists(atPath: folder + "/reserve"))
            left.withLock { $0 = 2_000_000 }
            #expect(!reserve.isReadOnly)
            #expect(try size(of: folder + "/reserve") == 1_000_000)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder) == ["reserve"])
        }
    }

    /// The process was killed while it looked whether there was room again.
    @Test func fileOfAnInterruptedTryIsRemoved() async throws {
        try await withTemporaryFolder(isMade: true) { (folder) throws in
            try Data(count: 1_000).write(to: URL(fileURLWithPath: folder + "/reserve.try"))
            _ = DiskReserve(
                folder: folder, bytes: 1_000_000, freeBytes: { 100_000_000 },
                logger: Logger(label: "test") { _ in InMemoryLogHandler() })
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder) == ["reserve"])
        }
    }

    @Test func reserveIsAPartOfASmallDisk() async throws {
        try await withTemporaryFolder(isMade: true) { (folder) throws in
            let logger = Logger(label: "test") { _ in InMemoryLogHandler() }
            _ = DiskReserve(
                folder: folder, bytes: 16_000_000, freeBytes: { 4_000_000 }, logger: logger)
            #expect(try size(of: folder + "/reserve") == 1_000_000)
            let full = DiskReserve(
                folder: folder, bytes: 16_000_000, freeBytes: { 0 }, logger: logger)
            #expect(full.isReadOnly)
        }
    }

    private func size(of file: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return try #require(attributes[.size] as? Int)
    }
}
