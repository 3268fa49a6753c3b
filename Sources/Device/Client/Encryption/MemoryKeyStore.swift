import StratusRecords
import Synchronization

/// Stores keys in memory: for tests, and for processes that get their key from elsewhere.
public final class MemoryKeyStore: CloudKeyStore {
    private struct Kept {
        var key: [UInt8]?
        var keyring: [UInt8]?
    }

    private struct Container: Hashable {
        var identifier: String
        var environment: ContainerEnvironment
    }

    private let accounts = Mutex<[CloudKeyAccount: Kept]>([:])
    private let fields = Mutex<[Container: Set<EncryptedField>]>([:])

    /// Makes an empty store. It keeps no sign-ins: the person signs in at each start.
    public init() {}

    public func key(for account: CloudKeyAccount) -> [UInt8]? {
        accounts.withLock { $0[account]?.key }
    }

    public func addKey(_ key: [UInt8], for account: CloudKeyAccount) -> [UInt8] {
        accounts.withLock { accounts in
            let kept = accounts[account]?.key ?? key
            accounts[account, default: Kept()].key = kept
            return kept
        }
    }

    public func removeKey(for account: CloudKeyAccount) {
        accounts.withLock { $0[account] = nil }
    }

    public func keyring(for account: CloudKeyAccount) -> [UInt8]? {
        accounts.withLock { $0[account]?.keyring }
    }

    public func keepKeyring(_ keyring: [UInt8], for account: CloudKeyAccount) {
        accounts.withLock { $0[account, default: Kept()].keyring = keyring }
    }

    public func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) -> Set<EncryptedField> {
        fields.withLock {
            $0[Container(identifier: container, environment: environment)] ?? []
        }
    }

    public func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) {
        self.fields.withLock {
            $0[Container(identifier: container, environment: environment), default: []]
                .formUnion(fields)
        }
    }
}
