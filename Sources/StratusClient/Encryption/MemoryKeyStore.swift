import Synchronization

/// Keeps keys as long as it lives: for tests, and for processes that fetch their key elsewhere.
public final class MemoryKeyStore: CloudKeyStore {
    private let keys = Mutex<[CloudKeyAccount: [UInt8]]>([:])

    public init() {}

    public func key(for account: CloudKeyAccount) -> [UInt8]? {
        keys.withLock { $0[account] }
    }

    public func addKey(_ key: [UInt8], for account: CloudKeyAccount) -> [UInt8] {
        keys.withLock { keys in
            let kept = keys[account] ?? key
            keys[account] = kept
            return kept
        }
    }

    public func replaceKey(_ key: [UInt8], for account: CloudKeyAccount) {
        keys.withLock { $0[account] = key }
    }
}
