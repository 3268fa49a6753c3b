import StratusRecords
import StratusStorage
import StratusWire

/// Creates and deletes zones.
///
/// Where it is decided:
/// - which databases have custom zones, and how many zones a request may name: `answer(_:)` here;
/// - whether a zone may be created or deleted, and how many a database may have: `ZoneChanges` here;
/// - what is deleted with a zone: `RecordWriter.remove(_:reason:)`;
/// - what a repeated request is answered: `IdempotencyRecord` and `ZonesOutcome`;
/// - what differs in the shared database, where a deletion leaves the zone: ZonesModify+Shared.swift.
extension ZonesModify: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: true,
        cost: { Double($0.operations.count) / 10 },
        zones: { Set($0.operations.map(\.zoneID.zoneName)) }, link: { _, _ in })

    /// Creating a zone that exists and deleting one that does not are successes, since the result is what was asked
    /// for. Custom zones exist in private databases only.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let (request, context) = (call.request, call.context)
        try context.checkCount(request.operations.count)
        var seen: Set<ZoneIDDictionary> = []
        let twice = request.operations.first {
            !seen.insert(context.identity($0.zoneID)).inserted
        }
        if let twice {
            throw ServiceError.invalid(
                """
                The zone '\(twice.zoneID.zoneName.prefix(255))' is named in two operations of the request; \
                name it in one.
                """)
        }
        if context.isSharedDatabase {
            return try await sharedAnswer(
                request, in: context, call.components.databases, call.components.savingRecords,
                try await call.components.tokenSigner())
        }
        guard context.scope == .private, let address = try context.databaseAddress() else {
            throw ServiceError.wrongDatabase(
                "The public database has no custom zones; use the private database.")
        }
        let signer = try await call.components.tokenSigner()
        let now = context.nowMilliseconds
        let store = try await call.components.databases.store(for: address)
        let idempotency = try IdempotencyRecord(
            request.operationID, of: request.repeatableOperations(in: context), in: context,
            prefix: prefix)
        let (answer, links, isLong) = try await call.components.records.write(
            to: store, by: context.user(), on: context.caller.device
        ) { records -> (Answer, [String], Bool) in
            let writer = records.transaction
            let tokens = context.changeTokens(signer, of: address, writer)
            var kept: [ZoneIDDictionary: ZoneResult] = [:]
            if let outcome = try idempotency?.outcome(in: writer) {
                kept = try ZonesOutcome(outcome, count: request.operations.count)
                    .keptResults(request) { try current($0, in: writer, context, tokens) }
                if kept.count == request.operations.count {
                    return (Answer(request.operations.compactMap { kept[$0.zoneID] }), [], false)
                }
            }
            var changes = ZoneChanges(context: context)
            let results = try request.operations.map { operation -> ZoneResult in
                if let result = kept[operation.zoneID] { return result }
                do {
                    guard let name = context.zoneName(operation.zoneID) else {
                        throw ServiceError.zoneNotFound
                    }
                    return .success(
                        try changes.apply(operation, to: name, in: &records, tokens: tokens))
                } catch let error as ServiceError {
                    return .failure(ZoneFailure(zoneID: operation.zoneID, error: error))
                }
            }
            if results.contains(where: { if case .success = $0 { true } else { false } }) {
                try idempotency?.keep(ZonesOutcome(results).bytes, in: writer, nowMilliseconds: now)
            }
            return (Answer(results), changes.endedLinks, records.hasLongChange)
        }
        if isLong { await call.components.longChanges.begin(store) }
        await SharingOutcome(unusedShortGUIDs: links)
            .forgetShortGUIDs(call.components.directory, call.components.settings.logger)
        return answer
    }

    /// The prefix of the keys of idempotency records, in the private and in the shared database.
    static let prefix = "zones/"
    static let sharedPrefix = "sharedZones/"

    /// A zone after a repeated operation; nil when it was created and has been deleted since.
    private static func current(
        _ operation: Operation, in reader: any StoreReader, _ context: RequestContext,
        _ tokens: ChangeTokens
    ) throws -> ZoneDictionary? {
        guard let name = context.zoneName(operation.zoneID) else { return nil }
        if operation.kind == .delete {
            return try ZoneDictionary(deleted: name, in: reader, context, tokens)
        }
        return try reader.livingZone(named: name).map { row in
            var zone = try ZoneDictionary(row, in: context, tokens: tokens)
            try zone.addDatabaseToken(in: reader, context, tokens)
            return zone
        }
    }
}

extension ZonesModify.Request {
    /// The operations of the request, for comparing repeated requests.
    func repeatableOperations(in context: RequestContext) -> [IdempotencyRecord.Operation] {
        operations.map { operation in
            let zoneID = context.identity(operation.zoneID)
            // Zones without a scope keep the form that earlier versions stored.
            let scope = operation.encryptionScope == .perZone ? " PER_ZONE" : ""
            return IdempotencyRecord.Operation(
                kind: operation.kind.rawValue + scope, zoneName: zoneID.zoneName,
                zoneOwner: zoneID.ownerRecordName)
        }
    }
}

extension RequestContext {
    /// The zone's identifier in one form: the caller as its owner is left out.
    fileprivate func identity(_ zoneID: ZoneIDDictionary) -> ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneID.zoneName,
            ownerRecordName: isOwner(zoneID.ownerRecordName) ? nil : zoneID.ownerRecordName)
    }
}

/// Creates and deletes zones inside one transaction.
private struct ZoneChanges {
    let context: RequestContext
    /// The short GUIDs of shares that were in deleted zones.
    private(set) var endedLinks: [String] = []
    /// How many zones the database has, once they were counted for the request: that reads the rows of deleted zones too.
    private var zoneCount: Int?

    init(context: RequestContext) {
        self.context = context
    }

    mutating func apply(
        _ operation: ZonesModify.Operation, to name: String, in records: inout RecordWriter,
        tokens: ChangeTokens
    ) throws -> ZoneDictionary {
        switch operation.kind {
        case .create:
            let scope = operation.encryptionScope ?? .perRecord
            var zone = try ZoneDictionary(
                create(name, scope, in: &records), in: context, tokens: tokens)
            try zone.addDatabaseToken(in: records.transaction, context, tokens)
            return zone
        case .delete:
            try delete(name, operation.generation, in: &records)
            return try ZoneDictionary(deleted: name, in: records.transaction, context, tokens)
        }
    }

    /// By Apple's page about the scope: a request is refused when it names another scope than the zone has, or none
    /// because its client knows no scopes.
    private mutating func create(
        _ name: String, _ scope: ZoneEncryptionScope, in records: inout RecordWriter
    ) throws -> ZoneRow {
        let writer = records.transaction
        if let zone = try writer.livingZone(named: name) {
            guard zone.encryptionScope == scope else { throw ServiceError.encryptionScopeStays }
            return zone
        }
        guard Names.isZoneName(name) else {
            throw ServiceError.invalid(
                "The zone's name is not valid; it has 1 to 255 ASCII characters and no leading underscore."
            )
        }
        let count = try zoneCount ?? writer.zones().count
        zoneCount = count
        guard count < context.limits.zonesPerDatabase else {
            throw ServiceError.overLimit(
                "The database has \(context.limits.zonesPerDatabase) zones, the most allowed; delete some"
                    + " first.")
        }
        // A zone of an earlier name takes no further row.
        let limit = Self.formerZonesPerZone * context.limits.zonesPerDatabase
        guard try writer.zone(named: name) != nil || writer.zoneCount() < limit else {
            throw ServiceError.overLimit(
                """
                The database has had \(limit) zones of different names, the most allowed; use the name of a \
                deleted one.
                """)
        }
        let zone = try records.create(name, encryptionScope: scope)
        zoneCount = count + 1
        return zone
    }

    /// How many zones a database may have had for each that it may have: deleted ones keep their rows for good, so that
    /// their change tokens expire.
    private static let formerZonesPerZone = 100

    /// - Parameter generation: the generation of the zone that is meant; nil for the current zone. After a restore it
    ///   may be later than the generation of the same zone.
    private mutating func delete(
        _ name: String, _ generation: Int64?, in records: inout RecordWriter
    ) throws {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted; delete its records.")
        }
        guard let zone = try records.transaction.livingZone(named: name),
            zone.generation <= generation ?? .max
        else { return }
        endedLinks += try records.remove(zone, reason: .deleted)
        zoneCount = zoneCount.map { $0 - 1 }
    }
}

extension ZoneDictionary {
    /// A zone that the request deleted, or that did not exist.
    fileprivate init(
        deleted name: String, in reader: any StoreReader, _ context: RequestContext,
        _ tokens: ChangeTokens
    ) throws {
        self.init(zoneID: context.zoneID(name), isDeleted: true)
        try addDatabaseToken(in: reader, context, tokens)
    }

    fileprivate mutating func addDatabaseToken(
        in reader: any StoreReader, _ context: RequestContext, _ tokens: ChangeTokens
    ) throws {
        guard context.caller.wantsExtensions else { return }
        databaseSyncToken = try tokens.databaseToken(cursor: try reader.databaseVersion)
    }
}
