import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import StratusWire

/// A record's name and zone within its database.
struct RecordKey: Hashable, Sendable {
    var zoneName: String
    var name: String
}

/// A modify request, checked and encoded as far as possible before the transaction.
struct ModifyPlan: Sendable {
    enum Item: Sendable {
        case ready(PlannedOperation)
        /// Failed before the transaction. The zone is nil when the caller can have no such zone.
        case refused(RecordFailure, zoneName: String?)

        var zoneName: String? {
            switch self {
            case .ready(let operation): operation.key.zoneName
            case .refused(_, let zoneName): zoneName
            }
        }
    }

    /// One per operation, in the request's order.
    var items: [Item]

    /// What the caller may do in the database.
    var access: RecordAccess

    /// The types of the records that may be saved.
    var recordTypes: Set<String> {
        Set(
            items.compactMap { item in
                if case .ready(let operation) = item { operation.recordType } else { nil }
            })
    }

    /// The names of the records, also of those that the service named; empty if there is none.
    var recordNames: [String] {
        items.map { item in
            switch item {
            case .ready(let operation): operation.key.name
            case .refused(let failure, _): failure.recordName ?? ""
            }
        }
    }

    /// - Throws: ``ServiceError`` when the whole request is wrong.
    static func make(
        _ request: RecordsModify.Request, in context: RequestContext, _ store: any RecordStore,
        _ schemas: SchemaCache, _ directory: any Directory, _ signer: TokenSigner,
        _ world: World
    ) async throws -> ModifyPlan {
        let keys = try keys(of: request, in: context, world)
        let stored = try await rowsNeeded(for: request, keys, in: context, store: store)
        let assets = try await AssetClaims.make(
            request, keys, in: context, store: store, signer: signer)
        let person = try await sharingPerson(of: request, keys, stored, in: context, directory)
        var schema = try await schemas.schema(of: context.address)
        // Another request may fix a field's type between reading and extending the schema; then everything is checked
        // again against the new schema.
        for _ in 0..<8 {
            var planning = ModifyPlanning(
                request: request, context: context, schema: schema, stored: stored,
                assets: assets, person: person, world: world)
            let items = zip(request.operations, keys).map { planning.item($0, $1) }
            let growth = planning.growth
            guard !growth.isEmpty, !isDoomed(items, request) else {
                return ModifyPlan(items: items, access: planning.access)
            }
            let expected = planning.schema
            schema = try await schemas.extend(context.address, with: growth)
            let isAsExpected = growth.allSatisfy { row in
                guard let field = row.field else { return schema.hasType(row.recordType) }
                return schema.rule(for: field, of: row.recordType)
                    == expected.rule(for: field, of: row.recordType)
            }
            if isAsExpected { return ModifyPlan(items: items, access: planning.access) }
        }
        throw ServiceError(
            .tryAgainLater, "The container's schema was changed during the request; send it again.",
            retryAfterSeconds: 1)
    }

    /// Whether no operation can succeed, so that the request must not create record types either.
    private static func isDoomed(_ items: [Item], _ request: RecordsModify.Request) -> Bool {
        let refusedZones = items.compactMap { item -> String? in
            if case .refused(_, let zoneName) = item { zoneName } else { nil }
        }
        return request.isAtomic
            && items.allSatisfy { item in
                guard let zoneName = item.zoneName, zoneName != ZoneID.defaultZoneName else {
                    if case .refused = item { return true }
                    return false
                }
                return refusedZones.contains(zoneName)
            }
    }

    /// The record of each operation; nil when the caller can have no such zone.
    private static func keys(
        of request: RecordsModify.Request, in context: RequestContext, _ world: World
    ) throws -> [RecordKey?] {
        var seen: Set<RecordKey> = []
        return try request.operations.map { operation in
            let zoneID = operation.record.zoneID ?? request.zoneID
            guard let zoneName = context.zoneName(zoneID) else { return nil }
            let isNew = operation.kind == .create
            let name =
                operation.record.recordName ?? (isNew ? world.newUUID() : "")
            let key = RecordKey(zoneName: zoneName, name: name)
            guard name.isEmpty || seen.insert(key).inserted else {
                throw ServiceError.invalid(
                    """
                    The record '\(name.prefix(255))' is named in two operations of the request; name it \
                    in one.
                    """)
            }
            return key
        }
    }

    /// The stored rows that updates are merged with, and from which operations without a record type take theirs.
    private static func rowsNeeded(
        for request: RecordsModify.Request, _ keys: [RecordKey?], in context: RequestContext,
        store: any RecordStore
    ) async throws -> [RecordKey: RecordRow] {
        let needed = zip(request.operations, keys).compactMap { operation, key in
            operation.kind.isDeletion || operation.kind == .create
                || operation.kind == .forceReplace && operation.record.recordType != nil
                    && !operation.record.hasAssetsWithoutReceipt
                ? nil : key
        }
        guard !needed.isEmpty else { return [:] }
        return try await store.read { reader in
            var rows: [RecordKey: RecordRow] = [:]
            var room = context.limits.recordBytesPerModify
            for (zoneName, keys) in Dictionary(grouping: needed, by: \.zoneName) {
                guard let zone = try context.livingZone(named: zoneName, reader) else { continue }
                let found = try reader.records(
                    named: keys.map(\.name), in: zone.row.key, room: &room,
                    tooLarge: .modifyTooLarge, hold: context.hold(changedBytes:))
                for row in found.values
                where !row.isDeleted && zone.rights.canRead(row) {
                    rows[RecordKey(zoneName: zoneName, name: row.name)] = row
                }
            }
            return rows
        }
    }
}

extension ModifyPlan {
    /// The identity of the caller for shares, when the request saves one.
    static func sharingPerson(
        of request: RecordsModify.Request, _ keys: [RecordKey?], _ stored: [RecordKey: RecordRow],
        in context: RequestContext, _ directory: any Directory
    ) async throws -> ParticipantIdentity? {
        guard context.scope == .private else { return nil }
        let savesShare = zip(request.operations, keys).contains { operation, key in
            let type = operation.record.recordType ?? key.flatMap { stored[$0]?.type }
            return type == ShareDictionary.recordType
        }
        return savesShare ? try await context.participantIdentity(in: directory) : nil
    }

    /// The short GUIDs that were made for the request.
    var shortGUIDs: [String] {
        items.compactMap { item in
            if case .ready(let operation) = item { operation.shortGUID } else { nil }
        }
    }

    /// Stores the targets of the links before the shares exist, so that a link that a client received is never lost.
    func registerShortGUIDs(
        in context: RequestContext, _ directory: any Directory
    ) async throws {
        let drawn = shortGUIDs
        guard !drawn.isEmpty, let owner = context.caller.userRecordName else { return }
        try await directory.put(
            drawn.map { ShortGUIDRow(shortGUID: $0, address: context.address, owner: owner) })
    }
}

extension RecordsModify.Kind {
    var isReplacement: Bool { self == .replace || self == .forceReplace }
    var isForced: Bool { self == .forceUpdate || self == .forceReplace || self == .forceDelete }
}

/// One operation, ready to be decided.
struct PlannedOperation: Sendable {
    var kind: RecordsModify.Kind
    var key: RecordKey
    /// The type in the request, else that of the record as it was before the transaction; nil if there is neither.
    var recordType: String?
    var isTypeDeclared: Bool
    var changeTag: String?
    /// The fields that the request sets or, with nil, clears; their types are those of the schema.
    var changes: [Field]
    /// The content to store for a new or replaced record.
    var content: Content
    /// The content to store for an updated record, if its change tag is still this one.
    var merged: (changeTag: String, content: Content)?
    var parentChange: RecordDictionary.ParentChange
    /// The uploaded assets among the changes, which must still be there.
    var assets: [BlobName]
    /// Why an asset among the changes cannot be saved, if nothing else is wrong.
    var assetRefusal: ServiceError?
    /// The owner's changes to a share.
    var share: PlannedShare?
    /// The short GUID that the record gets if it has none yet.
    var shortGUID: String?
    /// The records that must exist: the new parent, the targets of VALIDATE references, and those of
    /// DELETE_SELF references that are new.
    var required: [RecordKey]
    var desiredKeys: [String]?
    var numbersAsStrings: Bool

    /// The stored fields with the changes applied: what was not sent stays.
    ///
    /// - Throws: ``ServiceError`` when the record would have more fields than a record may have. If it were stored, it
    ///   could not be read again, and every query of its type would fail.
    static func merge(
        _ payload: [UInt8], with changes: [Field], limits: Limits
    ) throws -> Content {
        var fields = try RecordFields.encoded(payload).values()
        for change in changes {
            let index = fields.firstIndex { $0.name == change.name }
            switch (index, change.value) {
            case (let index?, nil): fields.remove(at: index)
            case (let index?, _): fields[index] = change
            case (nil, nil): break
            case (nil, _): fields.append(change)
            }
        }
        guard fields.count <= limits.fieldsPerRecord else {
            throw ServiceError.tooManyFields(limit: limits.fieldsPerRecord)
        }
        return Content(fields)
    }

    /// All fields that a record will have: as values, and as the bytes that are stored.
    struct Content: Sendable {
        var fields: [Field]
        var payload: [UInt8]

        init(_ fields: [Field]) {
            self.fields = fields
            payload = RecordFields.values(fields).encoded()
        }
    }
}

/// What an operation changes in a share, as far as it is known before the transaction.
struct PlannedShare: Sendable {
    var wanted: ShareDictionary
    /// The owner; nil in the shared database, where administrators save.
    var person: ParticipantIdentity?
}
