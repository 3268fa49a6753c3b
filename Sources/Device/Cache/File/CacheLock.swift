import Foundation
import StratusClient
import Synchronization

/// The file beside a cache's file through which processes know of each other.
///
/// The process that holds its lock syncs; the kernel releases the lock when the process ends in any way. Every commit
/// touches the file, which wakes those that watch it (``CacheWatches``). It is no `FileLock`, because the file stays open
/// while another process has the lock.
final class CacheLock: Sendable {
    /// The path of the lock file; empty for a cache in memory.
    let path: String
    /// The descriptor of the lock file; nil when it was closed, and `noDescriptor` for a file in memory.
    private let descriptor: Mutex<Int32?>
    private let memory: MemoryCacheFile?

    /// - Throws: ``CacheError`` `unwritable`.
    init(cachePath: String) throws {
        path = cachePath + "-lock"
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CacheError.unwritable(path)
        }
        self.descriptor = Mutex(descriptor)
        memory = nil
        DeviceFile.tighten(path)
    }

    /// Makes the lock of a file in memory, which is shared by the caches of this process.
    init(in memory: MemoryCacheFile) {
        path = ""
        descriptor = Mutex(Self.noDescriptor)
        self.memory = memory
    }

    private static let noDescriptor: Int32 = -1

    deinit { close() }

    /// Takes the lock, if it is free.
    ///
    /// - Returns: whether it is held.
    func take() -> Bool {
        descriptor.withLock { descriptor in
            // A cache that is started after it was closed does not block others.
            guard let descriptor else { return false }
            if let memory { return memory.takeLock(ObjectIdentifier(self)) }
            return flock(descriptor, LOCK_EX | LOCK_NB) == 0
        }
    }

    /// Releases the lock, and notifies the others.
    func giveBack() {
        memory?.giveLockBack(ObjectIdentifier(self))
        descriptor.withLock { descriptor in
            guard let descriptor, memory == nil else { return }
            flock(descriptor, LOCK_UN)
        }
        touch()
    }

    /// Wakes those that watch the file.
    func touch() {
        memory?.touch(ObjectIdentifier(self))
        descriptor.withLock { descriptor in
            guard let descriptor, memory == nil else { return }
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
        let open = descriptor.withLock { $0.take() }
        if let memory {
            memory.endWatch(ObjectIdentifier(self))
            memory.giveLockBack(ObjectIdentifier(self))
            memory.touch(ObjectIdentifier(self))
        }
        guard let open, memory == nil else { return }
        // A program that this process is starting at this moment still has the file open too.
        flock(open, LOCK_UN)
        Foundation.close(open)
    }
}
