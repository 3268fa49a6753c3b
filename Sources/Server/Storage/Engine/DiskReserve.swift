import Foundation
import Logging
import Synchronization

/// Room that is kept in the data folder for the moment in which the disk is full.
///
/// SQLite needs room for everything it does, for a deletion too: the write-ahead log grows before a page
/// becomes free, and opening a file makes the log and its index. When a write finds no room, the reserve is
/// given back to the system and the service is read-only: what it writes then are deletions and its own
/// upkeep, which live on the reserve until there is room again.
final class DiskReserve: Sendable {
    private struct State {
        var isReadOnly = false
        /// How many bytes were kept the last time.
        var keptBytes: Int64
    }

    /// Below this there is no use in keeping anything.
    private static let leastBytes: Int64 = 250_000
    /// The part of what is free that is kept at the most.
    private static let partOfFree: Int64 = 4
    /// How many times the reserve must be free before something is added again: else the service would
    /// be full again in a moment.
    private static let timesFree: Int64 = 2

    private let path: String
    private let bytes: Int64
    private let freeBytes: @Sendable () -> Int64
    private let takes: @Sendable (Int64) -> Bool
    private let logger: Logger
    private let state: Mutex<State>
    /// As in the state, for those who only look.
    private let isFull = Atomic(false)

    /// - Parameters:
    ///   - freeBytes: What a process may still write; asked of the system where it is nil.
    ///   - takes: Whether a new file of so many bytes finds room, which a quota may refuse while there is
    ///     some; tried where it is nil.
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
            // One that is there is counted as free: it is made anew in the size that fits now.
            unlink(path)
            if !keep(&state) { beginReadOnly(&state) }
        }
    }

    /// Whether nothing is added now. Looks whether there is room again.
    var isReadOnly: Bool {
        guard isFull.load(ordering: .acquiring) else { return false }
        return state.withLock { state in
            if state.isReadOnly, hasRoom(state), keep(&state) {
                state.isReadOnly = false
                isFull.store(false, ordering: .releasing)
                logger.notice(
                    "The disk has room again; the service takes saves.",
                    metadata: ["path": "\(path)"])
            }
            return state.isReadOnly
        }
    }

    /// Notes that a write found no room.
    ///
    /// - Returns: Whether room was made by it, so that what failed may be tried again.
    func noteFull() -> Bool {
        state.withLock { state in
            // What is refused for another reason, such as the size of one file, finds room elsewhere.
            guard !state.isReadOnly, !hasRoom(state) else { return false }
            beginReadOnly(&state)
            return true
        }
    }

    /// Refuses a file that would be new, while nothing is added.
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
            "The disk is full; the service is read-only until there is room. Deleting goes on.",
            metadata: ["path": "\(path)", "reserve": "\(state.keptBytes)"])
    }

    private func hasRoom(_ state: State) -> Bool {
        let wanted = state.keptBytes * Self.timesFree
        // A quota is not in what the system says of the disk.
        return freeBytes() >= wanted && takes(wanted)
    }

    /// Takes the reserve from what is free.
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

    /// Makes a file that has its room on the disk; none where there is no room.
    private static func allocate(_ bytes: Int64, at path: String) -> Bool {
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        do {
            try FileRights.setMode(file, path)
        } catch {
            // An empty file of zeros tells nobody anything; the next start refuses what others may write.
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
        // Where the system does not say, a write will.
        guard statvfs(folder, &status) == 0 else { return .max }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }
}
