import Crypto
import Foundation
import StratusRecords
import StratusWire
import Synchronization

/// The keys of encrypted values that a device knows, and the record in which the service keeps what
/// the user's devices tell each other of them.
///
/// The record is an ordinary one: type `StratusKeyring`, name `stratus-keyring`, in the default zone
/// of the private database. `identifier` names the account's key, `sealed` are the keys of zones that
/// others share with the user, encrypted with it. The account's key itself is only in the
/// ``CloudKeyStore`` of each device.
final class CloudKeyring: Sendable {
    static let recordType = "StratusKeyring"
    static let recordName = "stratus-keyring"

    private struct SharedZone: Hashable, Codable {
        var owner: String
        var zone: String
    }

    /// What is known of one account.
    private struct Known {
        var key: AccountKey
        /// The keys of others' zones.
        var shared: [SharedZone: ZoneKey] = [:]
        var changeTag: String?
    }

    /// The content of `sealed`, as JSON.
    private struct Entry: Codable {
        var owner: String
        var zone: String
        var key: Data
    }

    private let store: any CloudKeyStore
    private let known = Mutex<[CloudKeyAccount: Known]>([:])

    init(store: any CloudKeyStore) {
        self.store = store
    }

    // MARK: Keys

    /// The key of a zone.
    ///
    /// - Parameter makesKey: whether the account's first key is made when there is none.
    /// - Returns: nil when this device has none.
    /// - Throws: `CKError`; `accountTemporarilyUnavailable` when a key is needed and the account's is
    ///   on another device.
    func zoneKey(
        for zoneID: CKRecordZone.ID, core: ContainerCore, pace: RequestPace, makesKey: Bool
    ) async throws -> ZoneKey? {
        let account = try await account(core, pace)
        let isOwn = zoneID.ownerName == CKCurrentUserDefaultName || zoneID.ownerName == account.user
        guard let known = try await self.known(of: account, core, pace, makesKey: isOwn && makesKey)
        else { return nil }
        if isOwn { return known.key.zoneKey(owner: account.user, zoneName: zoneID.zoneName) }
        let zone = SharedZone(owner: zoneID.ownerName, zone: zoneID.zoneName)
        if let key = known.shared[zone] { return key }
        // Another device may have opened the link since.
        return try await load(account, known.key, core, pace)?.shared[zone]
    }

    /// Keeps the key of another's zone, here and for the user's other devices.
    func add(
        _ key: ZoneKey, of zoneID: CKRecordZone.ID, core: ContainerCore, pace: RequestPace
    ) async throws {
        let account = try await account(core, pace)
        let zone = SharedZone(owner: zoneID.ownerName, zone: zoneID.zoneName)
        for _ in 0..<5 {
            guard var known = try await self.known(of: account, core, pace, makesKey: true) else {
                return
            }
            if known.shared[zone] == key { return }
            known.shared[zone] = key
            if try await save(known, account, core, pace) { return }
            _ = try await load(account, known.key, core, pace)
        }
        throw CKError(.zoneBusy, "Try again: other devices of the user change the keyring.")
    }

    /// The account's key; made when nobody has one.
    func accountKey(core: ContainerCore, pace: RequestPace) async throws -> AccountKey {
        let account = try await account(core, pace)
        guard let known = try await known(of: account, core, pace, makesKey: true) else {
            throw Self.isElsewhere
        }
        return known.key
    }

    /// Takes over the account's key from another device.
    ///
    /// - Throws: `CKError.invalidArguments` when it is another account's.
    func use(_ key: AccountKey, core: ContainerCore, pace: RequestPace) async throws {
        let account = try await account(core, pace)
        if let record = try await record(core, pace), record.identifier != key.identifier {
            throw CKError(.invalidArguments, "Give the recovery key of this account and container.")
        }
        try keeping { try store.replaceKey(key.bytes, for: account) }
        known.withLock { $0[account] = nil }
    }

    static var isElsewhere: CKError {
        CKError(
            .accountTemporarilyUnavailable,
            "Import the recovery key: encrypted values need the key of the user's other devices.")
    }

    private func account(
        _ core: ContainerCore, _ pace: RequestPace
    ) async throws -> CloudKeyAccount {
        CloudKeyAccount(
            container: core.identifier, environment: core.connection.environment,
            user: try await core.userRecordName(pace: pace))
    }

    // MARK: The account's key

    private func known(
        of account: CloudKeyAccount, _ core: ContainerCore, _ pace: RequestPace, makesKey: Bool
    ) async throws -> Known? {
        if let known = known.withLock({ $0[account] }) { return known }
        if let bytes = try keeping({ try store.key(for: account) }) {
            guard let key = AccountKey(bytes) else {
                throw CKError(.internalError, "Give the key store keys of 32 bytes.")
            }
            if let known = try await load(account, key, core, pace) { return known }
            // A key that was kept but not told, by a crash between the two.
            guard makesKey else { return nil }
            return try await publish(key, account, core, pace)
        }
        guard makesKey else { return nil }
        if try await record(core, pace) != nil { throw Self.isElsewhere }
        let bytes = try keeping { try store.addKey(AccountKey().bytes, for: account) }
        guard let key = AccountKey(bytes) else {
            throw CKError(.internalError, "Give the key store keys of 32 bytes.")
        }
        return try await publish(key, account, core, pace)
    }

    private func publish(
        _ key: AccountKey, _ account: CloudKeyAccount, _ core: ContainerCore, _ pace: RequestPace
    ) async throws -> Known? {
        let known = Known(key: key)
        if try await !save(known, account, core, pace) {
            // Another device was first, or another process of this one with the same key.
            guard let loaded = try await load(account, key, core, pace) else {
                throw Self.isElsewhere
            }
            return loaded
        }
        return self.known.withLock { $0[account] }
    }

    private func keeping<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let sentence = (error as? CloudKeyStoreError)?.sentence
            throw CKError(
                .permissionFailure, sentence ?? "Let the key store keep its keys.", cause: error)
        }
    }

    // MARK: The record

    private struct Stored {
        var changeTag: String?
        var identifier: [UInt8]?
        var sealed: [UInt8]?
    }

    /// The keyring's record; nil when there is none.
    private func record(_ core: ContainerCore, _ pace: RequestPace) async throws -> Stored? {
        let answer = try await core.sender(scope: .private, pace: pace).send(
            RecordsLookup.self,
            RecordsLookup.Request(records: [.init(recordName: Self.recordName)]))
        switch answer.records.first {
        case .record(let dictionary):
            // However it fails: a keyring that cannot be read must not be replaced by a new one.
            guard let fields = try? dictionary.fields.values() else {
                throw CKError(.internalError, "The service answered fields that cannot be read.")
            }
            var stored = Stored(changeTag: dictionary.recordChangeTag)
            for field in fields {
                guard case .bytes(let bytes) = field.value else { continue }
                if field.name == "identifier" { stored.identifier = bytes }
                if field.name == "sealed" { stored.sealed = bytes }
            }
            return stored
        case .failure(let failure) where failure.error.code != .notFound:
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        default: return nil
        }
    }

    /// Reads the record; nil when there is none.
    ///
    /// - Throws: `CKError.accountTemporarilyUnavailable` when it is of another key.
    private func load(
        _ account: CloudKeyAccount, _ key: AccountKey, _ core: ContainerCore, _ pace: RequestPace
    ) async throws -> Known? {
        guard let record = try await record(core, pace) else { return nil }
        guard record.identifier == key.identifier else { throw Self.isElsewhere }
        var known = Known(key: key, changeTag: record.changeTag)
        // A keyring that does not open was damaged or forged: its zones are as if never shared.
        if let sealed = record.sealed, let box = try? AES.GCM.SealedBox(combined: sealed),
            let data = try? AES.GCM.open(
                box, using: key.keyringKey, authenticating: Data(account.user.utf8)),
            let entries = try? JSONDecoder().decode([Entry].self, from: data)
        {
            for entry in entries {
                known.shared[SharedZone(owner: entry.owner, zone: entry.zone)] =
                    ZoneKey(bytes: [UInt8](entry.key))
            }
        }
        let loaded = known
        self.known.withLock { $0[account] = loaded }
        return loaded
    }

    /// Writes the record.
    ///
    /// - Returns: false when it was changed meanwhile.
    private func save(
        _ known: Known, _ account: CloudKeyAccount, _ core: ContainerCore, _ pace: RequestPace
    ) async throws -> Bool {
        let entries = known.shared.map { zone, key in
            Entry(owner: zone.owner, zone: zone.zone, key: Data(key.bytes))
        }.sorted { ($0.owner, $0.zone) < ($1.owner, $1.zone) }
        let sealed: [UInt8]
        do {
            let box = try AES.GCM.seal(
                try JSONEncoder().encode(entries), using: known.key.keyringKey,
                authenticating: Data(account.user.utf8))
            sealed = box.combined.map { [UInt8]($0) } ?? []
        } catch {
            throw CKError(.internalError, "The keyring could not be encrypted.", cause: error)
        }
        let record = RecordDictionary(
            recordName: Self.recordName, recordType: Self.recordType,
            recordChangeTag: known.changeTag,
            fields: .values([
                Field(name: "identifier", value: .bytes(known.key.identifier)),
                Field(name: "sealed", value: .bytes(sealed)),
            ]))
        let answer = try await core.sender(scope: .private, pace: pace).send(
            RecordsModify.self,
            RecordsModify.Request(
                operations: [.init(known.changeTag == nil ? .create : .update, record)],
                isAtomic: false, operationID: core.connection.world.makeUUID().uuidString))
        switch answer.records.first {
        case .record(let dictionary):
            var known = known
            known.changeTag = dictionary.recordChangeTag
            let saved = known
            self.known.withLock { $0[account] = saved }
            return true
        case .failure(let failure)
        where failure.error.code == .conflict || failure.error.code == .exists:
            return false
        case .failure(let failure):
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        default: throw CKError(.internalError, "The service did not answer the keyring's save.")
        }
    }
}
