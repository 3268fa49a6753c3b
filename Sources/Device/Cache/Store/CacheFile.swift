import GRDB
import StratusClient
import StratusRuntime
import Synchronization

/// The cache's file: one SQLite database with all cloud databases of one user.
///
/// It has what they share: the connections, and what the app encrypts.
final class CacheFile: Sendable {
    let path: String
    let pool: DatabasePool
    /// The fields that the app encrypts; see `CacheStore+Encryption.swift`.
    let encryptedKeys: Mutex<EncryptedKeys>

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    init(path: String) throws {
        self.path = path
        pool = try CacheFormat.open(path)
        encryptedKeys = Mutex(try Self.encryptedKeys(in: pool))
    }

    func close() throws {
        try pool.close()
    }
}
