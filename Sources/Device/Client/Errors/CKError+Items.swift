import Foundation

// Questions about an error that apps otherwise answer with their own code.

extension CKError {
    /// The errors of the items inside a `partialFailure`; for any other error, the error itself.
    var leaves: [CKError] {
        guard code == .partialFailure else { return [self] }
        return (partialErrorsByItemID ?? [:]).values.compactMap { $0 as? CKError }
            .flatMap(\.leaves)
    }

    /// Whether this error, or that of an item in it, has a code.
    ///
    /// ```swift
    /// do {
    ///     try await database.save(record)
    /// } catch let error as CKError where error.contains(.zoneNotFound) {
    ///     try await database.save(CKRecordZone(zoneID: record.recordID.zoneID))
    ///     try await database.save(record)
    /// }
    /// ```
    public func contains(_ code: Code) -> Bool {
        self.code == code || leaves.contains { $0.code == code }
    }

    /// Whether a requested record or its zone does not exist.
    public var isNotFound: Bool { contains(.unknownItem) || isZoneMissing }

    /// Whether a zone does not exist, because it was never created or was deleted.
    public var isZoneMissing: Bool { contains(.zoneNotFound) || contains(.userDeletedZone) }

    /// Whether a record was changed on the service meanwhile; see ``conflicts``.
    public var hasConflict: Bool { contains(.serverRecordChanged) }

    /// Whether the same request may succeed later without a change.
    public var mayPass: Bool { leaves.contains(where: \.isTransient) }

    /// Seconds to wait before any part of the request is repeated: the longest of its items' waits.
    public var longestRetryAfterSeconds: Double? {
        leaves.compactMap(\.retryAfterSeconds).max() ?? retryAfterSeconds
    }

    /// The errors of the records of a request, by record.
    public var errorsByRecordID: [CKRecord.ID: CKError] { errorsByItem() }

    /// The errors of the zones of a request, by zone.
    public var errorsByZoneID: [CKRecordZone.ID: CKError] { errorsByItem() }

    private func errorsByItem<ID: Hashable>() -> [ID: CKError] {
        var errors: [ID: CKError] = [:]
        for (item, error) in partialErrorsByItemID ?? [:] {
            if let item = item as? ID, let error = error as? CKError { errors[item] = error }
        }
        return errors
    }

    /// The conflicts in this error: its own, or those of its records.
    public var conflicts: [RecordConflict] {
        leaves.compactMap { error in
            guard error.code == .serverRecordChanged, let client = error.clientRecord,
                let server = error.serverRecord
            else { return nil }
            return RecordConflict(ancestor: error.ancestorRecord, client: client, server: server)
        }
    }
}

/// Two versions of a record and their common ancestor.
public struct RecordConflict: Sendable {
    /// Which version a field is taken from.
    public enum Side: Hashable, Sendable {
        /// The client's version: the record to be saved.
        case client
        /// The server's version: the record at the service.
        case server
    }

    /// The common ancestor of both versions; nil when both sides created the record.
    public var ancestor: CKRecord?
    /// The record that was to be saved.
    public var client: CKRecord
    /// The record as the service has it.
    public var server: CKRecord

    /// Makes a conflict of versions that the app has, to merge them.
    ///
    /// - Parameter ancestor: nil when both sides created the record.
    public init(ancestor: CKRecord?, client: CKRecord, server: CKRecord) {
        self.ancestor = ancestor
        self.client = client
        self.server = server
    }

    /// The fields, plain and encrypted, that both sides changed to different values.
    public var contestedKeys: [CKRecord.FieldKey] {
        clientKeys.filter { key in
            Self.isDifferent(server, ancestor, key) && Self.isDifferent(server, client, key)
        }
    }

    /// The service's record with the client's changes, encrypted ones too: what to save next.
    ///
    /// A field that only one side changed has that side's value. `ancestor`, `client` and `server`
    /// are not changed.
    ///
    /// ```swift
    /// for conflict in error.conflicts {
    ///     try await database.save(conflict.merged { $0 == "visits" ? .server : .client })
    /// }
    /// ```
    ///
    /// - Parameter side: whose value a contested field has; the client's by default.
    public func merged(
        _ side: (CKRecord.FieldKey) -> Side = { _ in .client }
    ) -> CKRecord {
        guard let merged = server.copy() as? CKRecord else { return server }
        let contested = Set(contestedKeys)
        for key in clientKeys where Self.isDifferent(server, client, key) {
            if contested.contains(key), side(key) == .server { continue }
            let (value, isEncrypted) = client.state.withLock {
                ($0.values[key], $0.encryptedKeys.contains(key))
            }
            merged.state.withLock {
                // A removed field stays plain or encrypted as it is at the service.
                let kind = value == nil ? $0.encryptedKeys.contains(key) : isEncrypted
                $0.set(value, for: key, isEncrypted: kind)
            }
        }
        let isParentContested = server.parent != ancestor?.parent
        if client.parent != ancestor?.parent, !isParentContested { merged.parent = client.parent }
        return merged
    }

    /// The fields, plain and encrypted, that the client changed: by comparison with the ancestor if
    /// there is one.
    private var clientKeys: [CKRecord.FieldKey] {
        let (values, changes, lacksFields) = client.state.withLock {
            ($0.values.keys, Set($0.changes.keys), $0.lacksFields)
        }
        guard ancestor != nil else { return values.sorted() }
        // The ancestor of a record that lacks fields does not show that one of them was removed.
        return Set(values).union(changes).sorted().filter {
            Self.isDifferent(client, ancestor, $0) || (lacksFields && changes.contains($0))
        }
    }

    private static func isDifferent(
        _ one: CKRecord, _ other: CKRecord?, _ key: CKRecord.FieldKey
    ) -> Bool {
        let first = one.state.withLock { $0.values[key] }
        let second = other?.state.withLock { $0.values[key] }
        guard let first, let second else { return (first == nil) != (second == nil) }
        guard let one = first.fieldValue, let other = second.fieldValue else { return true }
        return one != other
    }
}
