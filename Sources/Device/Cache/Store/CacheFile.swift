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
    /// Until the file is closed. Whoever reads holds it, and the last one who lets go closes it: GRDB's own
    /// `close` ends the process of whoever is about to read.
    private let openPool: Mutex<DatabasePool?>
    /// The fields that the app encrypts; see `CacheStore+Encryption.swift`.
    let encryptedKeys: Mutex<EncryptedKeys>
    let lock: CacheLock
    /// Tells what this opening of the file did from what others do.
    let origin: Int64
    /// The last change that observers heard of.
    let seenChange: Mutex<Int64>

    var isClosed: Bool { openPool.withLock { $0 == nil } }

    /// - Throws: SQLite's error after ``close()``.
    var pool: DatabasePool {
        get throws {
            guard let pool = openPool.withLock({ $0 }) else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "The cache is closed.")
            }
            return pool
        }
    }

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    init(path: String, world: World) throws {
        self.path = path
        let pool = try CacheFormat.open(path)
        openPool = Mutex(pool)
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

    /// Closes the file, as soon as nobody reads or writes it any more.
    func close() {
        lock.close()
        // Let go of outside the lock: who is the last one closes the file, which takes a while.
        let last = openPool.withLock { $0.take() }
        withExtendedLifetime(last) {}
    }
}
