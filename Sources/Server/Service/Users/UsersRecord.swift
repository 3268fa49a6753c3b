import StratusRecords
import StratusStorage

/// The record of the type `Users` that every user has in the public and in the private database of every container, in
/// the default zone and named like the user: two records with fields of their own. The service creates each at its
/// first use. Only its user can change it, and no one can create or delete one.
enum UsersRecord {
    static let type = "Users"

    /// Whether a name is of the kind that only these records have.
    static func isName(_ name: String) -> Bool { name.hasPrefix("_") }

    /// Why an operation on a record whose name only the service gives is refused; nil for the caller's own.
    ///
    /// The refusal is the same whether or not there is such a user.
    static func refusal(
        of kind: OperationKind, key: RecordKey, type: String?, in context: RequestContext
    ) -> ServiceError? {
        let name = key.name
        guard context.scope != .shared, key.zoneName == ZoneID.defaultZoneName,
            name == context.caller.userRecordName
        else {
            return context.scope == .public && isName(name)
                ? .writeNotPermitted
                : .badRecordName
        }
        if kind == .deletion {
            return .invalid("A user's own record cannot be deleted; save it without fields.")
        }
        return type == nil || type == UsersRecord.type
            ? nil : .invalid("A user's record has the type Users; leave the type out or name it.")
    }

    /// The kinds of operations that these records distinguish.
    enum OperationKind {
        case save
        case deletion
    }

    /// Creates the caller's record if a request names it and it does not exist yet.
    static func makeIfNeeded(
        named names: [String], in context: RequestContext, store: any RecordStore,
        _ records: RecordWriting
    ) async throws {
        guard context.scope != .shared, let user = context.caller.userRecordName,
            names.contains(user)
        else { return }
        let isThere = try await store.read { reader in
            try self.row(user, reader: reader) != nil
        }
        guard !isThere else { return }
        let now = context.nowMilliseconds
        let device = context.caller.device
        try await records.write(to: store, by: user, on: device) { records in
            guard try self.row(user, reader: records.transaction) == nil,
                let zone = try records.transaction.livingZone(named: ZoneID.defaultZoneName)
            else { return }
            let row = RecordRow(
                zone: zone.key, name: user, type: type, version: 0, commitVersion: 0,
                changeTag: "", isDeleted: false, creatorDevice: device, createdMilliseconds: now,
                modifiedMilliseconds: now, creator: user, modifier: user,
                modifierDevice: device, parent: nil, shareRoot: nil,
                payload: PlannedOperation.Content([]).payload)
            // Records of the default zone cannot be shared.
            try records.write(1, in: zone, isShared: false) {
                try $0.put(RecordWrite(row: row, fields: [], references: [], old: nil))
            }
        }
    }

    private static func row(_ user: String, reader: any StoreReader) throws -> RecordRow? {
        guard let zone = try reader.livingZone(named: ZoneID.defaultZoneName) else { return nil }
        return try reader.records(named: [user], in: zone.key)[user]
    }
}
