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

    private var caller: CloudKeyring.Caller { CloudKeyring.Caller(core: core, pace: sender.pace) }

    /// Encrypts the values of a batch's records that must be encrypted.
    func encrypt(_ batch: inout ModifyBatch) async throws {
        // Looked up once for each zone, even if there is none.
        var keys: [CKRecordZone.ID: Result<ZoneKey, any Error>] = [:]
        for (index, record) in batch.records.enumerated() {
            guard case .success(var draft) = batch.drafts[index], !draft.openKeys.isEmpty,
                !batch.isSpoilt(record.recordID)
            else { continue }
            let zoneID = record.recordID.zoneID
            if keys[zoneID] == nil { keys[zoneID] = await writingKey(of: zoneID) }
            do {
                if let key = try keys[zoneID]?.get() {
                    try await encrypt(&draft, of: record, with: key)
                }
                batch.drafts[index] = .success(draft)
            } catch {
                let error = CKError(requestFailedWith: error)
                if error.isTransient || error.code == .operationCancelled { throw error }
                batch.fail(index, with: error)
            }
        }
    }

    private func writingKey(of zoneID: CKRecordZone.ID) async -> Result<ZoneKey, any Error> {
        do {
            guard sender.scope != .public else {
                throw CKError(
                    .invalidArguments,
                    "The public database does not accept encrypted values, because everyone may"
                        + " read it; leave them out.")
            }
            let keys = try await core.connection.keyring.zoneKeys(of: zoneID, for: .writing, caller)
            guard let key = keys.first else {
                throw CKError(
                    .permissionFailure,
                    "The key of the encrypted values of the zone \(zoneID.zoneName) is not on this"
                        + " device; open the share's whole link, which has it.")
            }
            return .success(key)
        } catch {
            // Becomes the error of each record of the zone.
            return .failure(error)
        }
    }

    private func encrypt(
        _ draft: inout CKRecord.Draft, of record: CKRecord, with key: ZoneKey
    ) async throws {
        var place = place(record.recordID, owner: try await owner(of: record.recordID.zoneID))
        for index in draft.fields.indices where draft.openKeys.contains(draft.fields[index].name) {
            guard let value = draft.fields[index].value else { continue }
            place.fieldName = draft.fields[index].name
            draft.fields[index].value = .bytes(
                try SealedValue.sealed(value, with: key, at: place))
        }
    }

    /// Decrypts the values of fetched records; a value whose key this device lacks stays encrypted
    /// and reads as nil.
    func decrypt(_ records: [CKRecord]) async throws {
        await addLinkKeys(to: records.compactMap { $0 as? CKShare }, makesKey: false)
        let zones = Dictionary(
            grouping: records.filter { !$0.sealedMarks.isEmpty }, by: \.recordID.zoneID)
        for (zoneID, records) in zones {
            let marks = Set(records.flatMap(\.sealedMarks))
            let keys = try await core.connection.keyring.zoneKeys(
                of: zoneID, for: .reading(marks: marks), caller)
            try await open(records, with: keys)
        }
    }

    /// Decrypts the values of a root record that is shown by a link before the share is joined.
    ///
    /// The link's key is used only for a zone for which the device has no key: the link may not
    /// come from the person who shares the zone.
    func decrypt(_ record: CKRecord, linkKey: ZoneKey?) async throws {
        let keys = try await core.connection.keyring.zoneKeys(
            of: record.recordID.zoneID, for: .reading(marks: record.sealedMarks), caller)
        try await open([record], with: keys.isEmpty ? linkKey.map { [$0] } ?? [] : keys)
    }

    private func open(_ records: [CKRecord], with keys: [ZoneKey]) async throws {
        for record in records where !keys.isEmpty {
            let owner = try await owner(of: record.recordID.zoneID)
            record.open(with: keys, at: place(record.recordID, owner: owner))
        }
    }

    /// Adds the zone's key to the links of shares. Sharing does not depend on it: if there is no
    /// key, for any reason, the link stays without one.
    ///
    /// - Parameter makesKey: whether the account's first key is created, so that people who join by
    ///   the link can read what is encrypted later.
    func addLinkKeys(to shares: [CKShare], makesKey: Bool) async {
        for share in shares where share.url != nil {
            do {
                let keys = try await core.connection.keyring.zoneKeys(
                    of: share.recordID.zoneID, for: makesKey ? .writing : .reading(marks: []),
                    caller)
                if let key = keys.first { share.state.withLock { $0.sharing?.linkKey = key } }
            } catch {
                // The link stays without a key, so encrypted values cannot be read with it; sharing
                // itself succeeds.
            }
        }
    }
}

extension CKRecord {
    /// The marks of the keys of those values that cannot be read yet.
    fileprivate var sealedMarks: Set<[UInt8]> {
        state.withLock { state in
            var marks: Set<[UInt8]> = []
            for name in state.encryptedKeys {
                if case .sealed(let bytes) = state.values[name] {
                    marks.insert(SealedValue.mark(of: bytes))
                }
            }
            return marks
        }
    }

    fileprivate func open(with keys: [ZoneKey], at place: SealedValue.Place) {
        var place = place
        state.withLock { state in
            for name in state.encryptedKeys {
                guard case .sealed(let bytes) = state.values[name] else { continue }
                place.fieldName = name
                for key in keys {
                    guard let value = SealedValue.opened(bytes, with: key, at: place) else {
                        continue
                    }
                    state.values[name] = .wire(value)
                    break
                }
            }
        }
    }
}
