import StratusClient

/// A key store that keeps keys and keyrings in another one.
package protocol PassingKeyStore: CloudKeyStore {
    var store: any CloudKeyStore { get }
}

extension PassingKeyStore {
    package func key(for account: CloudKeyAccount) throws -> [UInt8]? {
        try store.key(for: account)
    }

    package func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8] {
        try store.addKey(key, for: account)
    }

    package func removeKey(for account: CloudKeyAccount) throws {
        try store.removeKey(for: account)
    }

    package func keyring(for account: CloudKeyAccount) throws -> [UInt8]? {
        try store.keyring(for: account)
    }

    package func keepKeyring(_ keyring: [UInt8], for account: CloudKeyAccount) throws {
        try store.keepKeyring(keyring, for: account)
    }
}
