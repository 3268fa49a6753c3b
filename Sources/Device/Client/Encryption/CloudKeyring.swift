import Foundation
import StratusRecords
import StratusRuntime
import Synchronization

/// The keys of encrypted values that a device knows.
///
/// The user's devices share keys through a record at the service; see `CloudKeyring+Record.swift`.
/// The device keeps a copy in its ``CloudKeyStore``, so that a service that hides the record, or
/// returns an earlier one, neither removes nor replaces a key.
final class CloudKeyring: Sendable {
    /// The keys of one account.
    struct Known {
        var key: AccountKey
        /// The keys of zones that others share.
        var shared: SharedZoneKeys
        var record = Record.notAsked
        /// The uptime at which the record was last fetched for the keys of a zone.
        var askedSeconds: [SharedZoneKeys.Zone: Double] = [:]
    }

    /// The account's keyring at the service.
    enum Record: Equatable {
        case notAsked
        case missing
        case ours(changeTag: String?)
        /// A keyring that belongs to another account key.
        case anothers
    }

    /// What a key is needed for.
    enum Purpose {
        /// Values with these marks; see ``ZoneKey/mark``.
        case reading(marks: Set<[UInt8]>)
        /// Encrypting values; the account's first key is created when there is none.
        case writing
    }

    /// The request sender and account for which a keyring is used.
    struct Caller: Sendable {
        var core: ContainerCore
        var pace: RequestPace
    }

    /// Seconds before the record is fetched again for a zone whose keys were missing.
    private static let patienceSeconds = 10.0
    /// Attempts to change the record while other devices change it too.
    private static let maximumAttempts = 5

    let store: any CloudKeyStore
    private let known = Mutex<[CloudKeyAccount: Known]>([:])

    init(store: any CloudKeyStore) {
        self.store = store
    }

    /// Forgets what is in memory; the keys stay in the store.
    func forget() {
        known.withLock { $0 = [:] }
    }

    // MARK: Keys of zones

    /// The keys of a zone: all of them decrypt, and the first one encrypts.
    ///
    /// - Returns: none when this device has none.
    /// - Throws: `CKError`; `accountTemporarilyUnavailable` when a key is needed to write and the
    ///   account's is on another device.
    func zoneKeys(
        of zoneID: CKRecordZone.ID, for purpose: Purpose, _ caller: Caller
    ) async throws -> [ZoneKey] {
        let account = try await account(caller)
        if isOwn(zoneID, account) {
            let known: Known? =
                switch purpose {
                // The service is not asked: it is not trusted about the keys of the user's own
                // zones.
                case .reading: try kept(account)
                case .writing: try await published(account, caller)
                }
            return known.map { [$0.key.zoneKey(owner: account.user, zoneName: zoneID.zoneName)] }
                ?? []
        }
        guard let known = try kept(account) else { return [] }
        let zone = SharedZoneKeys.Zone(zoneID)
        let keys = known.shared[zone]
        let now = caller.core.connection.world.uptimeSeconds()
        switch purpose {
        case .reading(let marks):
            let isEnough = !keys.isEmpty && marks.isSubset(of: keys.map(\.mark))
            let wasAsked = known.askedSeconds[zone].map { now - $0 < Self.patienceSeconds } ?? false
            if isEnough || wasAsked { return keys }
        case .writing:
            if !keys.isEmpty && known.record != .notAsked { return keys }
        }
        // Another device may have opened the link or replaced the key since.
        return try await ask(account, caller, about: zone)?.shared[zone] ?? keys
    }

    /// Stores the key of a shared zone, here and for the user's other devices, unless there is one.
    ///
    /// - Returns: the key that encrypts.
    func add(
        _ key: ZoneKey, of zoneID: CKRecordZone.ID, _ caller: Caller
    ) async throws -> ZoneKey? {
        try await change(zoneID, caller) { $0.add(key, of: $1) }
    }

    /// Makes a key the one that encrypts in a shared zone, by a person's decision.
    func replace(
        _ key: ZoneKey, of zoneID: CKRecordZone.ID, keepsFormer: Bool, _ caller: Caller
    ) async throws {
        _ = try await change(zoneID, caller) {
            $0.replace(key, of: $1, keepsFormer: keepsFormer)
        }
    }

    private func change(
        _ zoneID: CKRecordZone.ID, _ caller: Caller,
        _ change: (inout SharedZoneKeys, SharedZoneKeys.Zone) -> Void
    ) async throws -> ZoneKey? {
        let account = try await account(caller)
        guard !isOwn(zoneID, account) else { return nil }
        let zone = SharedZoneKeys.Zone(zoneID)
        for _ in 0..<Self.maximumAttempts {
            var known = try await published(account, caller)
            let before = known.shared
            // Another process of this device may have stored more keys.
            known.shared.merge(try copy(of: account, known.key))
            change(&known.shared, zone)
            if known.shared == before { return before[zone].first }
            if try await save(known, account, caller) { return known.shared[zone].first }
            _ = try await ask(account, caller)
        }
        throw CKError(.zoneBusy, "Other devices of the user change the keyring; try again.")
    }

    // MARK: The account's key

    /// The account's key; created when no device has one.
    func accountKey(_ caller: Caller) async throws -> AccountKey {
        try await published(try await account(caller), caller).key
    }

    /// Stores the account's key from another device.
    ///
    /// - Throws: `CKError.invalidArguments` when it is another account's, or when this device has a
    ///   different one, which may be the last copy.
    func use(_ key: AccountKey, _ caller: Caller) async throws {
        let account = try await account(caller)
        if let record = try await record(caller), record.identifier != key.identifier {
            throw CKError(
                .invalidArguments,
                "The recovery key belongs to another account or container; use the key of this"
                    + " account and container.")
        }
        let kept = try keeping { try store.addKey(key.bytes, for: account) }
        guard kept == key.bytes else {
            throw CKError(
                .invalidArguments,
                "This device has another key of the account; call forgetRecoveryKey() first.")
        }
        known.withLock { $0[account] = nil }
    }

    /// Removes the account's key from this device.
    ///
    /// - Returns: the key; nil when there was none.
    func remove(_ caller: Caller) async throws -> AccountKey? {
        let account = try await account(caller)
        let key = try keeping { try store.key(for: account) }
        try keeping { try store.removeKey(for: account) }
        known.withLock { $0[account] = nil }
        return key.flatMap { AccountKey($0) }
    }

    private static var isElsewhere: CKError {
        CKError(
            .accountTemporarilyUnavailable,
            "Encrypted values need the key of the user's other devices, and it is not"
                + " here; import the recovery key.")
    }

    private func account(_ caller: Caller) async throws -> CloudKeyAccount {
        CloudKeyAccount(
            container: caller.core.identifier, environment: caller.core.connection.environment,
            user: try await caller.core.userRecordName(pace: caller.pace))
    }

    private func isOwn(_ zoneID: CKRecordZone.ID, _ account: CloudKeyAccount) -> Bool {
        zoneID.ownerName == CKCurrentUserDefaultName || zoneID.ownerName == account.user
    }

    /// The keys that this device has; nil without the account's key.
    private func kept(_ account: CloudKeyAccount) throws -> Known? {
        if let known = known.withLock({ $0[account] }) { return known }
        guard let bytes = try keeping({ try store.key(for: account) }) else { return nil }
        guard let key = AccountKey(bytes) else {
            throw CKError(
                .internalError,
                "The key store returned a key of \(bytes.count) bytes; give it keys of 32 bytes.")
        }
        let kept = Known(key: key, shared: try copy(of: account, key))
        return known.withLock { known in
            if let known = known[account] { return known }
            known[account] = kept
            return kept
        }
    }

    /// The keys of shared zones in the device's copy of the keyring.
    private func copy(of account: CloudKeyAccount, _ key: AccountKey) throws -> SharedZoneKeys {
        SharedZoneKeys(
            sealed: try keeping { try store.keyring(for: account) }, with: key, for: account.user)
    }

    /// The keys that this device has, after the account's key was published to the user's other
    /// devices.
    ///
    /// - Throws: `CKError.accountTemporarilyUnavailable` when they have a different key.
    private func published(
        _ account: CloudKeyAccount, _ caller: Caller
    ) async throws -> Known {
        guard var known = try kept(account) else { return try await made(account, caller) }
        if case .ours = known.record { return known }
        known = try await ask(account, caller) ?? known
        if known.record == .missing { known = try await publish(known, account, caller) }
        guard case .ours = known.record else { throw Self.isElsewhere }
        return known
    }

    /// Creates the account's first key.
    private func made(_ account: CloudKeyAccount, _ caller: Caller) async throws -> Known {
        if try await record(caller) != nil { throw Self.isElsewhere }
        let made = AccountKey()
        let bytes = try keeping { try store.addKey(made.bytes, for: account) }
        guard let kept = try kept(account) else { throw Self.isElsewhere }
        let known = try await publish(kept, account, caller)
        if case .ours = known.record { return known }
        if bytes == made.bytes {
            // Another device published its key first, and nothing was encrypted with this one.
            try keeping { try store.removeKey(for: account) }
            self.known.withLock { $0[account] = nil }
        }
        throw Self.isElsewhere
    }

    /// Publishes the identifier of the key to the user's other devices.
    private func publish(
        _ known: Known, _ account: CloudKeyAccount, _ caller: Caller
    ) async throws -> Known {
        if try await save(known, account, caller) { return try kept(account) ?? known }
        // Another device published first, or another process of this device with the same key.
        return try await ask(account, caller) ?? known
    }

    private func keeping<Value>(_ body: () throws -> Value) throws -> Value {
        try CloudKeyStoreError.translating(
            otherwise:
                "The key store could not save or read a key; see the cause.", body)
    }

    // MARK: The record

    /// Fetches the record, and merges its keys.
    ///
    /// - Returns: nil when the account's key was removed meanwhile.
    private func ask(
        _ account: CloudKeyAccount, _ caller: Caller, about zone: SharedZoneKeys.Zone? = nil
    ) async throws -> Known? {
        let stored = try await record(caller)
        let now = caller.core.connection.world.uptimeSeconds()
        return try note(account) { known in
            if let zone { known.askedSeconds[zone] = now }
            switch stored {
            case nil: known.record = .missing
            case .some(let stored) where stored.identifier == known.key.identifier:
                known.record = .ours(changeTag: stored.changeTag)
                known.shared.merge(
                    SharedZoneKeys(sealed: stored.sealed, with: known.key, for: account.user))
            default: known.record = .anothers
            }
        }
    }

    /// Saves the record.
    ///
    /// - Returns: false when another device changed it meanwhile.
    private func save(
        _ known: Known, _ account: CloudKeyAccount, _ caller: Caller
    ) async throws -> Bool {
        var changeTag: String?
        if case .ours(let tag) = known.record { changeTag = tag }
        let sealed = try known.shared.sealed(with: known.key, for: account.user)
        let saved = try await save(
            Stored(changeTag: changeTag, identifier: known.key.identifier, sealed: sealed), caller)
        guard let saved else { return false }
        _ = try note(account) {
            guard $0.key.bytes == known.key.bytes else { return }
            $0.record = .ours(changeTag: saved.changeTag)
            $0.shared.merge(known.shared)
        }
        return true
    }

    /// Changes the keys in memory and in the device's copy.
    ///
    /// - Returns: nil when the account's key was removed meanwhile.
    private func note(
        _ account: CloudKeyAccount, _ change: (inout Known) -> Void
    ) throws -> Known? {
        try known.withLock { all in
            guard var known = all[account] else { return nil }
            let before = known.shared
            change(&known)
            if known.shared != before {
                known.shared.merge(try copy(of: account, known.key))
                let copy = try known.shared.sealed(with: known.key, for: account.user)
                // The user must be able to read values even if the store cannot be written. Without a copy the device
                // trusts the service's keyring at its next start, as a new device does.
                try? store.keepKeyring(copy, for: account)
            }
            all[account] = known
            return known
        }
    }
}
