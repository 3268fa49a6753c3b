import Foundation
import StratusTesting
import Synchronization
import TestProcesses
import Testing

@testable import StratusStorage

/// A folder's lock closes its files once, and releasing it releases it for all copies of its descriptors.
@Suite struct FolderLockTests {
    /// A descriptor that is closed twice may by then belong to another thread's file.
    @Test func refusedFolderClosesItsFilesOnce() async throws {
        try await withTemporaryFolder { folder in
            _ = try DataFolder(path: folder, isLocked: true)
            try Data("stratus data 9999\n".utf8).write(
                to: URL(fileURLWithPath: folder + "/format"))
            let isDone = Mutex(false)
            async let lost = Self.filesClosedByOthers { isDone.withLock { $0 } }
            for _ in 0..<2_000 {
                #expect(throws: StorageError.self) { try DataFolder(path: folder, isLocked: true) }
            }
            isDone.withLock { $0 = true }
            #expect(await lost == 0)
        }
    }

    /// Opens and closes a file until `isDone`; it always gets the lowest free descriptor.
    ///
    /// - Returns: how many of its files another thread had closed.
    @concurrent private static func filesClosedByOthers(_ isDone: @Sendable () -> Bool) async -> Int
    {
        var lost = 0
        while !isDone() {
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            if close(file) != 0 { lost += 1 }
        }
        return lost
    }

    /// A program that is being started shares the open files until it runs.
    @Test func releasedLockIsFreeDespiteInheritedDescriptors() async throws {
        try await withTemporaryFolder { folder in
            let locked = try DataFolder(path: folder, isLocked: true)
            // As after a fork: other descriptors of the same open files.
            let copies = try openDescriptors(of: folder).keys.map { dup($0) }
            defer { for copy in copies { close(copy) } }
            #expect(copies.count == 2)
            #expect(throws: StorageError.self) { try DataFolder(path: folder, isLocked: true) }
            locked.release()
            _ = try DataFolder(path: folder, isLocked: true)
        }
    }
}
