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
        let keys = try withPool { try Self.encryptedKeys(in: $0) }
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

    /// Whether a fetch contains an unchanged record whose values this device can decrypt now, but had no key for when
    /// it first fetched them.
    func isReadableNow(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Bool {
        guard zone.isRefetching, !server.encryptedKeys.isEmpty,
            let here = try record(server.id.name, zone, database)
        else { return false }
        return !readableKeys(of: server, sealedIn: here).isEmpty
    }

    private func readableKeys(
        of server: RecordSnapshot, sealedIn here: RecordSnapshot
    ) -> Set<String> {
        server.encryptedKeys.filter { key in
            here.field(key)?.isSealed == true && server.field(key)?.isSealed == false
        }
    }

    /// Copies such values into a record with a pending change, and into its base.
    func takeReadable(
        _ server: RecordSnapshot, _ client: RecordSnapshot, _ row: inout PendingRow,
        _ zone: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let keys = readableKeys(of: server, sealedIn: client)
        guard !keys.isEmpty else { return }
        var client = client
        client.system = server.system
        for key in keys {
            client.replace(key, from: server)
            row.base?.replace(key, from: server)
        }
        try put(client, isEdit: true, zone, database)
        try update(row, database)
        outcome.changedIDs.insert(client.id)
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

extension Field {
    /// Whether it has a value that is encrypted with a key which this device does not have.
    fileprivate var isSealed: Bool {
        guard isEncrypted, case .bytes(let bytes) = value else { return false }
        return bytes.starts(with: [0x53, 0x56, 0x31, 0x00])
    }
}
