import StratusRecords
import Synchronization

/// The fields that this device encrypted in one container, in memory and in its ``CloudKeyStore``.
///
/// Invariants:
/// * A field is in the store before its first value is sent.
/// * No field is removed: CloudKit cannot turn an encrypted field into a plain one either.
/// * Only fields that this device encrypted are included. Otherwise a participant of a share could
///   keep the user from saving a field of the same name anywhere.
final class EncryptedFieldMemory: Sendable {
    private let store: any CloudKeyStore
    private let container: String
    private let environment: ContainerEnvironment
    /// The fields; nil until they are read from the store.
    private let known = Mutex<EncryptedKeys?>(nil)

    init(store: any CloudKeyStore, container: String, environment: ContainerEnvironment) {
        self.store = store
        self.container = container
        self.environment = environment
    }

    /// The fields, to check records before they are sent.
    ///
    /// - Throws: `CKError.permissionFailure` when the store cannot be read: then it is unknown
    ///   which fields may be sent unencrypted.
    func keys() throws -> EncryptedKeys {
        if let keys = known.withLock({ $0 }) { return keys }
        let stored = EncryptedKeys(
            try keeping { try store.encryptedFields(of: container, in: environment) })
        return known.withLock { known in
            let keys = stored.merging(known ?? [:]) { $0.union($1) }
            known = keys
            return keys
        }
    }

    /// The fields, to read fetched records; none when the store cannot be read. Reading records
    /// then still works, because a plain value never appears in `encryptedValues`; saving reports
    /// the store's error.
    var keysToRead: EncryptedKeys { (try? keys()) ?? [:] }

    /// Remembers fields, before their first values are sent.
    ///
    /// - Throws: `CKError.permissionFailure` when the store cannot be written.
    func add(_ fields: Set<EncryptedField>) throws {
        let keys = try keys()
        let new = fields.filter { keys[$0.recordType]?.contains($0.key) != true }
        guard !new.isEmpty else { return }
        try keeping { try store.addEncryptedFields(new, of: container, in: environment) }
        known.withLock { known in
            known = (known ?? [:]).merging(EncryptedKeys(new)) { $0.union($1) }
        }
    }

    private func keeping<Value>(_ body: () throws -> Value) throws -> Value {
        try CloudKeyStoreError.translating(
            otherwise:
                "The key store could not save or read the names of encrypted fields; see"
                + " the cause.", body)
    }
}
