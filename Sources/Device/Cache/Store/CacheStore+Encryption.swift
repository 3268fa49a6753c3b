import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Synchronization

/// The fields that the app encrypts, by record type: stored in the file with the first edit
/// (`CacheStore+Local.swift`), and cached in memory.
///
/// Only the app's own edits are counted. Otherwise a participant of a share could keep the user
/// from saving a field of the same name.
extension CacheFile {
    /// Reads the fields from the file, because another process may have encrypted a field for the
    /// first time.
    func readEncryptedKeys() throws {
        let keys = try Self.encryptedKeys(in: pool)
        encryptedKeys.withLock { $0.merge(keys) { $0.union($1) } }
    }

    static func encryptedKeys(in pool: any DatabaseReader) throws -> EncryptedKeys {
        // A single statement needs no transaction to read a consistent state.
        try pool.unsafeRead { database in
            var keys: EncryptedKeys = [:]
            let rows = try Row.fetchCursor(
                database.cachedStatement(sql: "SELECT type, key FROM encryptedField"))
            while let row = try rows.next() {
                let type: String = try row.decode(atIndex: 0)
                keys[type, default: []].insert(try row.decode(atIndex: 1))
            }
            return keys
        }
    }
}

extension CacheStore {
    func encryptedKeys(ofType type: String) -> Set<String> {
        file.encryptedKeys.withLock { $0[type] ?? [] }
    }

    /// The changes that must not be sent, by their index in the batch: they have a plain value in a
    /// field that the app encrypts.
    func plainValueFailures(in batch: [OutgoingChange]) -> [Int: SyncFailure] {
        let keys = file.encryptedKeys.withLock { $0 }
        guard !keys.isEmpty else { return [:] }
        var failures: [Int: SyncFailure] = [:]
        for (index, item) in batch.enumerated() {
            guard let client = item.client, let encrypted = keys[client.type] else { continue }
            let plain = client.fields.first {
                !$0.isEncrypted && encrypted.contains($0.name) && item.base?[$0.name] != $0.value
            }
            guard let plain else { continue }
            let field = EncryptedField(recordType: client.type, key: plain.name)
            failures[index] = SyncFailure(CKError.plainValue(of: field))
        }
        return failures
    }
}
