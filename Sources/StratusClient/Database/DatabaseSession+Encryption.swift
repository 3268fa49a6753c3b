import Foundation
import StratusRecords
import StratusWire

extension DatabaseSession {
    private func place(_ recordID: CKRecord.ID, owner: String) -> SealedValue.Place {
        SealedValue.Place(
            container: core.identifier, owner: owner, zoneName: recordID.zoneID.zoneName,
            recordName: recordID.recordName, fieldName: "")
    }

    private func owner(of zoneID: CKRecordZone.ID) async throws -> String {
        guard zoneID.ownerName == CKCurrentUserDefaultName else { return zoneID.ownerName }
        return try await core.userRecordName(pace: sender.pace)
    }

    /// Encrypts what a batch's records have to encrypt.
    func encrypt(_ batch: inout ModifyBatch) async throws {
        for (index, record) in batch.records.enumerated() {
            guard case .success(var draft) = batch.drafts[index], !draft.openKeys.isEmpty,
                !batch.isSpoilt(record.recordID)
            else { continue }
            do {
                try await encrypt(&draft, of: record)
                batch.drafts[index] = .success(draft)
            } catch {
                let error = CKError(requestFailedWith: error)
                if error.isTransient || error.code == .operationCancelled { throw error }
                batch.fail(index, with: error)
            }
        }
    }

    private func encrypt(_ draft: inout CKRecord.Draft, of record: CKRecord) async throws {
        guard sender.scope != .public else {
            throw CKError(
                .invalidArguments,
                "Keep encrypted values out of the public database: everybody may read it.")
        }
        let zoneID = record.recordID.zoneID
        guard
            let key = try await core.connection.keyring.zoneKey(
                for: zoneID, core: core, pace: sender.pace, makesKey: true)
        else {
            throw CKError(
                .permissionFailure,
                "Open the whole link of the share: it has the key of its encrypted values.")
        }
        var place = place(record.recordID, owner: try await owner(of: zoneID))
        for index in draft.fields.indices where draft.openKeys.contains(draft.fields[index].name) {
            guard let value = draft.fields[index].value else { continue }
            place.fieldName = draft.fields[index].name
            draft.fields[index].value = .bytes(
                try SealedValue.sealed(value, with: key, at: place))
        }
    }

    /// Makes sense of the encrypted values of fetched records; what this device has no key for stays
    /// sealed, and reads as nil.
    func decrypt(_ records: [CKRecord]) async throws {
        await addLinkKeys(to: records.compactMap { $0 as? CKShare }, makesKey: false)
        // Once for each zone of a page: to derive a key costs more than to open a value with it.
        var opened: [CKRecordZone.ID: (key: ZoneKey, owner: String)?] = [:]
        for record in records where record.hasSealedValues {
            let zoneID = record.recordID.zoneID
            if opened[zoneID] == nil { opened[zoneID] = .some(try await keyAndOwner(of: zoneID)) }
            guard case .some(.some(let known)) = opened[zoneID] else { continue }
            record.open(with: known.key, at: place(record.recordID, owner: known.owner))
        }
    }

    /// - Returns: nil when this device has no key.
    private func keyAndOwner(
        of zoneID: CKRecordZone.ID
    ) async throws -> (key: ZoneKey, owner: String)? {
        do {
            guard
                let key = try await core.connection.keyring.zoneKey(
                    for: zoneID, core: core, pace: sender.pace, makesKey: false)
            else { return nil }
            return (key, try await owner(of: zoneID))
        } catch CKError.accountTemporarilyUnavailable {
            // The key is on another device; the rest of the record is good without it.
            return nil
        }
    }

    /// Makes sense of the encrypted values of a record that a link shows before it is followed.
    func decrypt(_ record: CKRecord, with key: ZoneKey) async throws {
        let owner = try await owner(of: record.recordID.zoneID)
        record.open(with: key, at: place(record.recordID, owner: owner))
    }

    /// Adds to shares the key that their links carry. Sharing does not depend on it: without the key,
    /// for whatever reason, the link is as it is.
    ///
    /// - Parameter makesKey: whether the account's first key is made, so that what is encrypted later
    ///   can be read by who comes by the link.
    func addLinkKeys(to shares: [CKShare], makesKey: Bool) async {
        for share in shares where share.url != nil {
            do {
                let key = try await core.connection.keyring.zoneKey(
                    for: share.recordID.zoneID, core: core, pace: sender.pace, makesKey: makesKey)
                if let key { share.state.withLock { $0.sharing?.linkKey = key } }
            } catch {
                // As said above.
            }
        }
    }
}

extension CKRecord {
    fileprivate var hasSealedValues: Bool {
        state.withLock { state in
            state.encryptedKeys.contains { state.values[$0]?.isSealed == true }
        }
    }

    fileprivate func open(with key: ZoneKey, at place: SealedValue.Place) {
        var place = place
        state.withLock { state in
            for name in state.encryptedKeys {
                guard case .sealed(let bytes) = state.values[name] else { continue }
                place.fieldName = name
                if let value = SealedValue.opened(bytes, with: key, at: place) {
                    state.values[name] = .wire(value)
                }
            }
        }
    }
}

extension StoredValue {
    fileprivate var isSealed: Bool {
        if case .sealed = self { true } else { false }
    }
}
