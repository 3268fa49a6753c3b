import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Reads records by their names.
///
/// Where it is decided:
/// - which records the caller may read: `answer(_:in:access:reader:)` here, by `ZoneRights` for zones and shares and by
///   `RecordAccess` for grants;
/// - which fields of a record are shown: `RecordDictionary` in RecordResult+Row.swift, by `RecordViewer`;
/// - how many records a request may name: `answer(_:)` here; how many bytes they may have:
///   `records(named:in:room:tooLarge:hold:)` here;
/// - what differs in the shared database: `sharedAnswer(_:in:_:)` here.
extension RecordsLookup: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .read, effect: .idempotent, isCompressed: true,
        cost: { Double($0.records.count) / 160 },
        zones: { request in
            Set(request.records.map { ($0.zoneID ?? request.zoneID).zoneName })
        },
        link: { $1.link(&$0.records) })

    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.records.count)
        try call.context.checkNames(call.request.desiredKeys)
        for item in call.request.records { try call.context.checkNames(item.desiredKeys) }
        return try await answer(
            call.request, in: call.context,
            Stores(
                databases: call.components.databases, schemas: call.components.schemas,
                signer: try await call.components.tokenSigner(), records: call.components.records))
    }

    /// What looking up records needs.
    private struct Stores: Sendable {
        let databases: Databases
        let schemas: SchemaCache
        let signer: TokenSigner
        /// Makes the record of a user that is looked up.
        let records: RecordWriting
    }

    private static func answer(
        _ request: Request, in context: RequestContext, _ stores: Stores
    ) async throws -> Answer {
        guard let store = try await stores.databases.store(of: context) else {
            return try await sharedAnswer(request, in: context, stores)
        }
        try await UsersRecord.makeIfNeeded(
            named: request.records.map(\.recordName), in: context, store: store, stores.records)
        let access = try await context.recordAccess(by: stores.schemas)
        return try await store.read { reader in
            var answer = try Self.answer(request, in: context, access: access, reader: reader)
            answer.syncToken = try context.currentToken(
                of: request.zoneID, in: reader, signer: stores.signer)
            return answer
        }
    }

    private static func answer(
        _ request: Request, in context: RequestContext, access: RecordAccess,
        reader: any StoreReader
    ) throws -> Answer {
        let zoneNames = request.records.map { context.zoneName($0.zoneID ?? request.zoneID) }
        var rows: [String: [String: RecordRow]] = [:]
        var room = context.limits.recordBytesPerLookup
        var zoneErrors: [String: ServiceError] = [:]
        var nameCount = 0
        for zoneName in Set(zoneNames.compactMap { $0 }) {
            let zone: (row: ZoneRow, rights: ZoneRights)
            do {
                zone = try context.existingZone(named: zoneName, reader)
            } catch let error as ServiceError {
                zoneErrors[zoneName] = error
                continue
            }
            let names = Set(
                zip(request.records, zoneNames).lazy
                    .filter { $1 == zoneName }.map { $0.0.recordName })
            nameCount += names.count
            rows[zoneName] = try reader.records(
                named: Array(names), in: zone.row.key, room: &room, tooLarge: .lookupTooLarge,
                hold: context.hold(recordBytes:)
            ).filter { zone.rights.canRead($0.value) }
        }
        if nameCount < request.records.count {
            try countRepeated(request, zoneNames, rows, in: context, room: room)
        }
        return Answer(
            records: try zip(request.records, zoneNames).map { item, zoneName in
                guard let zoneName, let zoneRows = rows[zoneName] else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: item.zoneID ?? request.zoneID,
                            error: zoneName.flatMap { zoneErrors[$0] } ?? .zoneNotFound))
                }
                let zoneID = context.zoneID(zoneName)
                guard let row = zoneRows[item.recordName], !row.isDeleted else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: zoneID, error: .recordNotFound))
                }
                guard access[row.type].mayRead(row) else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: zoneID, error: .readNotPermitted))
                }
                return .record(
                    try RecordDictionary(
                        row, in: zoneID, keys: item.desiredKeys ?? request.desiredKeys,
                        numbersAsStrings: request.numbersAsStrings,
                        viewer: context.caller.viewer))
            })
    }
}

extension RecordsLookup {
    /// Counts the bytes of records that a request names more than once: the answer has each of them as often.
    ///
    /// - Throws: ``ServiceError`` when there is no room for them, or no memory.
    private static func countRepeated(
        _ request: Request, _ zoneNames: [String?], _ rows: [String: [String: RecordRow]],
        in context: RequestContext, room: Int
    ) throws {
        var room = room
        var seen: [String: Set<String>] = [:]
        for (item, zoneName) in zip(request.records, zoneNames) {
            guard let zoneName, let row = rows[zoneName]?[item.recordName],
                !seen[zoneName, default: []].insert(item.recordName).inserted
            else { continue }
            room -= row.payload.count
            guard room >= 0 else { throw ServiceError.lookupTooLarge }
            try context.hold(recordBytes: row.payload.count)
        }
    }

    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ stores: Stores
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, stores.databases)
        var syncToken: String?
        var room = context.limits.recordBytesPerLookup
        let results = try await database.answers(
            request.records, zoneID: { $0.zoneID ?? request.zoneID },
            refused: { item, error in
                .failure(
                    RecordFailure(
                        recordName: item.recordName, zoneID: item.zoneID ?? request.zoneID,
                        error: error))
            },
            from: { view, items in
                var part = request
                part.records = items
                let answer = try await answer(part, in: view, stores)
                room -= answer.records.storedBytes
                guard room >= 0 else { throw ServiceError.lookupTooLarge }
                // Only the part of the owner whose zone the request names has one.
                syncToken = syncToken ?? answer.syncToken
                return answer.records
            })
        return Answer(records: results, syncToken: syncToken)
    }
}
