import Foundation
import StratusClient
import Synchronization

/// The file beside a cache's file through which processes know of each other.
///
/// It has one lock for each database, a byte of the file: the process that holds it syncs the database. The kernel
/// releases the locks when the process ends in any way. Every commit touches the file, which wakes those that watch it
/// (``CacheWatches``). It does not use `FileLock`, because the file stays open while another process has a lock.
///
/// Earlier versions had one lock for the whole file, `flock`. A process that has a database's lock shares that one, so
/// that it never syncs beside an app of such a version.
final class CacheLock: Sendable {
    /// The path of the lock file; empty for a cache in memory.
    let path: String
    /// The lock file; nil when it was closed.
    private let state: Mutex<State?>
    private let memory: MemoryCacheFile?

    private struct State {
        /// The descriptor of the lock file, and `noDescriptor` for a file in memory.
        let descriptor: Int32
        /// Who has the locks of the databases that are held.
        var holders: [CKDatabase.Scope: Set<Holder>] = [:]
    }

    /// What in a cache has a lock. An app that changes from an `EngineStore` to the cache's own syncing, or back, has both
    /// for a while, and the lock is released when neither needs it.
    enum Holder {
        case cache
        case engineStore
    }

    /// - Throws: ``CacheError`` `unwritable`.
    init(cachePath: String) throws {
        path = cachePath + "-lock"
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CacheError.unwritable(path)
        }
        state = Mutex(State(descriptor: descriptor))
        memory = nil
        DeviceFile.tighten(path)
    }

    /// Makes the locks of a file in memory, which is shared by the caches of this process.
    init(in memory: MemoryCacheFile) {
        path = ""
        state = Mutex(State(descriptor: Self.noDescriptor))
        self.memory = memory
    }

    private static let noDescriptor: Int32 = -1
    /// `F_OFD_SETLK`, which Swift does not import from the system's headers.
    #if canImport(Darwin)
        private static let lockCommand: Int32 = 90
    #else
        private static let lockCommand: Int32 = 37
    #endif

    deinit { close() }

    /// Takes the lock of a database, if it is free or this cache has it.
    ///
    /// - Returns: whether it is held.
    func take(_ scope: CKDatabase.Scope, for holder: Holder = .cache) -> Bool {
        state.withLock { state in
            // A cache that is started after it was closed does not block others.
            guard let descriptor = state?.descriptor else { return false }
            let isTaken =
                memory?.takeLock(ObjectIdentifier(self), of: scope)
                ?? Self.take(scope, in: descriptor)
            if isTaken { state?.holders[scope, default: []].insert(holder) }
            if memory == nil, state?.holders.isEmpty == true { flock(descriptor, LOCK_UN) }
            return isTaken
        }
    }

    private static func take(_ scope: CKDatabase.Scope, in descriptor: Int32) -> Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return false }
        return setLock(F_WRLCK, at: scope.rawValue, byteCount: 1, in: descriptor)
    }

    /// Releases the lock of a database if nothing else in this cache has it, and notifies the others.
    func giveBack(_ scope: CKDatabase.Scope, for holder: Holder = .cache) {
        state.withLock { state in
            guard let descriptor = state?.descriptor else { return }
            state?.holders[scope]?.remove(holder)
            guard state?.holders[scope]?.isEmpty != false else { return }
            state?.holders[scope] = nil
            if let memory { return memory.giveLockBack(ObjectIdentifier(self), of: scope) }
            Self.setLock(F_UNLCK, at: scope.rawValue, byteCount: 1, in: descriptor)
            if state?.holders.isEmpty == true { flock(descriptor, LOCK_UN) }
        }
        touch()
    }

    /// Takes or releases the locks of some bytes for the open file, not for the process.
    ///
    /// - Parameter byteCount: 0 means all bytes up to the end, however long the file becomes.
    /// - Returns: whether that was possible.
    @discardableResult
    private static func setLock(
        _ type: Int32, at start: Int, byteCount: Int, in descriptor: Int32
    ) -> Bool {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(start)
        lock.l_len = off_t(byteCount)
        return fcntl(descriptor, lockCommand, &lock) == 0
    }

    /// Wakes those that watch the file.
    func touch() {
        memory?.touch(ObjectIdentifier(self))
        state.withLock { state in
            guard let descriptor = state?.descriptor, memory == nil else { return }
            // On a full disk the others check at the next commit, or after some seconds.
            var byte: UInt8 = 0
            _ = pwrite(descriptor, &byte, 1, 0)
        }
    }

    /// Calls a body whenever another cache has written into the file in memory.
    func watchMemory(_ body: @escaping @Sendable () -> Void) {
        memory?.watch(ObjectIdentifier(self), body)
    }

    func close() {
        let open = state.withLock { $0.take() }?.descriptor
        if let memory {
            memory.endWatch(ObjectIdentifier(self))
            memory.giveLocksBack(ObjectIdentifier(self))
            memory.touch(ObjectIdentifier(self))
        }
        guard let open, memory == nil else { return }
        // Unlocks explicitly: a program that this process is just starting may still have the file open too.
        Self.setLock(F_UNLCK, at: 0, byteCount: 0, in: open)
        flock(open, LOCK_UN)
        Foundation.close(open)
    }
}
