import GRDB
import StratusClient
import StratusRuntime
import Synchronization

/// The cache's file: one SQLite database with all cloud databases of one user.
///
/// It has what they share: the connections, what the app encrypts, and the lock that says which process
/// syncs.
final class CacheFile: Sendable {
    let path: String
    let pool: DatabasePool
    /// The fields that the app encrypts; see `CacheStore+Encryption.swift`.
    let encryptedKeys: Mutex<EncryptedKeys>
    let lock: CacheLock
    /// Tells what this opening of the file did from what others do.
    let origin: Int64
    /// The last change that observers heard of.
    let seenChange: Mutex<Int64>
    private let closed = Mutex(false)

    var isClosed: Bool { closed.withLock { $0 } }

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    init(path: String, world: World) throws {
        self.path = path
        pool = try CacheFormat.open(path)
        encryptedKeys = Mutex(try Self.encryptedKeys(in: pool))
        lock = try CacheLock(cachePath: path)
        origin = Int64(truncatingIfNeeded: world.randomNumber())
        seenChange = Mutex(try Self.lastChange(in: pool))
    }

    /// Runs one transaction.
    ///
    /// - Throws: ``CacheError`` `storageFull`, and what SQLite and the body throw; then nothing is written.
    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            let value = try pool.write(body)
            lock.touch()
            return value
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw CacheError(
                .storageFull, "Make room on this device; nothing was written, and nothing is lost.",
                cause: error)
        }
    }

    func close() throws {
        closed.withLock { $0 = true }
        lock.close()
        try pool.close()
    }
}
