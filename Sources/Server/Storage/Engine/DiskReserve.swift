import Foundation
import Logging
import Synchronization

/// Space in the data folder that is reserved for the time when the disk is full.
///
/// SQLite needs room for everything it does, even for a deletion: the write-ahead log grows before a page becomes free,
/// and opening a file creates the log and its index. When a write finds no room, the reserve is given back to the
/// system and the service becomes read-only: from then on it only writes deletions and its own upkeep, which use the
/// room of the reserve until there is room again.
final class DiskReserve: Sendable {
    private struct State {
        var isReadOnly = false
        /// How many bytes were kept last.
        var keptBytes: Int64
    }

    /// A smaller reserve is of no use.
    private static let leastBytes: Int64 = 250_000
    /// At most this part of the free room is kept.
    private static let partOfFree: Int64 = 4
    /// How many times the size of the reserve must be free before saves are accepted again. With less, the disk would
    /// soon be full again.
    private static let timesFree: Int64 = 2

    private let path: String
    private let bytes: Int64
    private let freeBytes: @Sendable () -> Int64
    private let takes: @Sendable (Int64) -> Bool
    private let logger: Logger
    private let state: Mutex<State>
    /// The same as in the state, for readers without the lock.
    private let isFull = Atomic(false)

    /// - Parameters:
    ///   - freeBytes: What a process may still write; if nil, the system is asked.
    ///   - takes: Whether there is room for a new file of this many bytes, which a quota may refuse although the disk
    ///     has room; if nil, this is found out by creating one.
    init(
        folder: String, bytes: Int64, freeBytes: (@Sendable () -> Int64)? = nil,
        takes: (@Sendable (Int64) -> Bool)? = nil, logger: Logger
    ) {
        path = folder + "/reserve"
        self.bytes = bytes
        self.freeBytes = freeBytes ?? { Self.freeBytes(in: folder) }
        self.takes = takes ?? { Self.takes($0, at: folder + "/reserve.try") }
        self.logger = logger
        state = Mutex(State(keptBytes: Self.leastBytes))
        state.withLock { state in
            // An existing reserve counts as free: it is created again in the size that fits now.
            unlink(path)
            // Left if the process was killed while it looked for room.
            unlink(path + ".try")
            if !keep(&state) { beginReadOnly(&state) }
        }
    }

    /// Whether saves are refused. Checks whether there is room again.
    var isReadOnly: Bool {
        guard isFull.load(ordering: .acquiring) else { return false }
        return state.withLock { state in
            if state.isReadOnly, hasRoom(state), keep(&state) {
                state.isReadOnly = false
                isFull.store(false, ordering: .releasing)
                logger.notice(
                    "The disk of the data folder has room again; the service takes saves.",
                    metadata: ["path": "\(path)"])
            }
            return state.isReadOnly
        }
    }

    /// Notes that a write found no room.
    ///
    /// - Returns: Whether this made room, so that the failed write may be tried again.
    func noteFull() -> Bool {
        state.withLock { state in
            // A write that is refused for another reason, such as the size of one file, leaves room for others.
            guard !state.isReadOnly, !hasRoom(state) else { return false }
            beginReadOnly(&state)
            return true
        }
    }

    /// Refuses to create a file while saves are refused.
    ///
    /// - Throws: ``StorageError`` with ``StorageError/Code/diskFull``.
    func admitFile(_ path: String) throws {
        guard isFull.load(ordering: .acquiring), access(path, F_OK) != 0, isReadOnly else { return }
        throw StorageError.diskFull(path: path)
    }

    private func beginReadOnly(_ state: inout State) {
        unlink(path)
        state.isReadOnly = true
        isFull.store(true, ordering: .releasing)
        logger.error(
            "The disk of the data folder is full; the service is read-only until space is freed. Deletions still work.",
            metadata: ["path": "\(path)", "reserve": "\(state.keptBytes)"])
    }

    private func hasRoom(_ state: State) -> Bool {
        let wanted = state.keptBytes * Self.timesFree
        // The system's number for the disk does not include a quota.
        return freeBytes() >= wanted && takes(wanted)
    }

    /// Takes the reserve from the free room.
    private func keep(_ state: inout State) -> Bool {
        let wanted = min(bytes, freeBytes() / Self.partOfFree)
        guard wanted >= min(Self.leastBytes, bytes) else { return false }
        guard Self.allocate(wanted, at: path) else { return false }
        state.keptBytes = wanted
        return true
    }

    private static func takes(_ bytes: Int64, at path: String) -> Bool {
        defer { unlink(path) }
        return allocate(bytes, at: path)
    }

    /// Creates a file that has its room on the disk; none if there is no room.
    private static func allocate(_ bytes: Int64, at path: String) -> Bool {
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        do {
            try FileRights.setMode(file, path)
        } catch {
            // An empty file of zeros reveals nothing, and the next start refuses a file that others may write.
        }
        #if canImport(Darwin)
            let isKept = ftruncate(file, off_t(bytes)) == 0
        #else
            let isKept = posix_fallocate(file, 0, off_t(bytes)) == 0
        #endif
        if !isKept { unlink(path) }
        return isKept
    }

    private static func freeBytes(in folder: String) -> Int64 {
        var status = statvfs()
        // If the system does not report it, a write will.
        guard statvfs(folder, &status) == 0 else { return .max }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }
}
