import StratusRecords
import Synchronization

/// The fields that this device encrypted in one container, in memory as in its ``CloudKeyStore``.
///
/// Invariants:
/// * A field is in the store before the first value of it is sent.
/// * Nothing is taken out: CloudKit has no way from an encrypted field to a plain one either.
/// * Only what this device encrypted counts. What others encrypted does not: a participant of a share
///   could keep the user from saving a field of the same name anywhere.
final class EncryptedFieldMemory: Sendable {
    private let store: any CloudKeyStore
    private let container: String
    private let environment: ContainerEnvironment
    /// Nil until it was read.
    private let known = Mutex<EncryptedKeys?>(nil)

    init(store: any CloudKeyStore, container: String, environment: ContainerEnvironment) {
        self.store = store
        self.container = container
        self.environment = environment
    }

    /// The fields, for what is sent.
    ///
    /// - Throws: `CKError.permissionFailure` when the store cannot be read: then nobody can say what
    ///   may be sent in the clear.
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

    /// The fields, for what is read. A store that cannot be read keeps nobody from reading records: a
    /// value in the clear is never among `encryptedValues`, known field or not.
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
                "The key store could not keep or read the names of encrypted fields; see"
                + " the cause.", body)
    }
}
