import Foundation
import StratusRuntime
import Testing

/// A file's lock excludes others, and ends with its object.
@Suite struct FileLockTests {
    /// Runs a body with the path of a file that does not exist.
    private func withPath(_ body: (_ path: String) throws -> Void) rethrows {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "stratus-lock-" + UUID().uuidString)
        // A body may have removed the file, or never created it.
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }

    private func isFree(_ path: String) throws -> Bool {
        let lock = try FileLock(ifFree: path, O_CREAT | O_RDWR) { SystemFailure(code: $0) }
        return lock.map { $0.whileLocked { _ in true } } ?? false
    }

    @Test func fileIsFreeAgainWhenItsLockEnds() throws {
        try withPath { path in
            let lock = try FileLock(waitingFor: path, O_CREAT | O_RDWR) { SystemFailure(code: $0) }
            let isFree = try lock.whileLocked { _ in try self.isFree(path) }
            #expect(!isFree)
        }
        try withPath { path in
            _ = try FileLock(waitingFor: path, O_CREAT | O_RDWR) { SystemFailure(code: $0) }
            #expect(try isFree(path))
        }
    }

    @Test func sharedLocksExcludeOnlyOthers() throws {
        try withPath { path in
            let first = try FileLock(waitingFor: path, O_CREAT | O_RDWR, isShared: true) {
                SystemFailure(code: $0)
            }
            let second = try FileLock(waitingFor: path, O_RDWR, isShared: true) {
                SystemFailure(code: $0)
            }
            let isFree = try first.whileLocked { _ in
                try second.whileLocked { _ in try self.isFree(path) }
            }
            #expect(!isFree)
        }
    }

    @Test func fileThatCannotBeOpenedFailsWithItsNumber() {
        withPath { path in
            #expect(throws: SystemFailure(code: ENOENT)) {
                try FileLock(waitingFor: path, O_RDWR) { SystemFailure(code: $0) }
            }
            #expect(throws: SystemFailure(code: ENOENT)) {
                try FileLock(ifFree: path, O_RDWR) { SystemFailure(code: $0) }
            }
            let lock = FileLock(ifFree: path, O_RDWR)
            #expect(lock.map { $0.descriptor } == nil)
        }
    }
}
