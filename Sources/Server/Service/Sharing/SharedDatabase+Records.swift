import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

extension RecordsModify {
    /// Each owner's part is a request of its own. A request about one owner only succeeds or fails as a whole, like one
    /// in the private database.
    static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ stores: Stores, _ signer: TokenSigner, _ errors: ErrorTranslation
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, databases)
        let zoneIDs = request.operations.map { $0.record.zoneID ?? request.zoneID }
        let isOneOwners = Set(zoneIDs.map { $0?.ownerRecordName }).count == 1
        func refused(_ operation: Operation, _ error: ServiceError) -> RecordResult {
            .failure(
                RecordFailure(
                    recordName: operation.record.recordName
                        ?? (operation.kind == .create ? stores.settings.newUUID() : nil),
                    zoneID: operation.record.zoneID ?? request.zoneID, error: error))
        }
        var syncToken: String?
        let results = try await database.answers(
            request.operations, zoneID: { $0.record.zoneID ?? request.zoneID }, refused: refused,
            from: { view, operations in
                var part = request
                part.operations = operations
                do {
                    guard let store = try await databases.store(of: view) else { return [] }
                    let answer = try await answer(part, in: view, store, stores, signer)
                    syncToken = syncToken ?? answer.syncToken
                    return answer.records
                } catch  where !isOneOwners {
                    // The other owners' parts succeeded: only these operations get the error.
                    let failure = errors.failure(from: error)
                    return failure.records ?? operations.map { refused($0, failure.error) }
                }
            })
        return Answer(records: results, syncToken: syncToken)
    }
}

extension RecordsLookup {
    static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ schemas: SchemaCache, _ signer: TokenSigner, _ records: RecordWriting
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, databases)
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
                let answer = try await answer(
                    part, in: view, databases, schemas, signer, records)
                room -= answer.records.storedBytes
                guard room >= 0 else { throw ServiceError.lookupTooLarge }
                // Only the part of the owner whose zone the request names has one.
                syncToken = syncToken ?? answer.syncToken
                return answer.records
            })
        return Answer(records: results, syncToken: syncToken)
    }
}

extension RecordsQuery {
    /// Queries the owner of the zone or, for all zones, one owner after the other.
    static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ stores: Stores
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, stores.databases)
        if request.zoneID == nil, request.isZoneWide {
            return try await zoneWideAnswer(request, in: database, stores)
        }
        guard let owner = request.zoneID?.ownerRecordName,
            try await database.owners().contains(owner)
        else { throw ServiceError.zoneNotFound }
        return try await answer(request, in: context.viewing(owner), stores)
    }

    /// Queries the zones of all owners: each owner's in the query's order, the owners by name. A page has the records
    /// of one owner.
    private static func zoneWideAnswer(
        _ request: Request, in database: SharedDatabase, _ stores: Stores
    ) async throws -> Answer {
        let owners = try await database.owners().sorted()
        var start: SharedContinuation?
        if let text = request.continuationMarker {
            guard let marker = SharedContinuation(text: text) else {
                throw ServiceError.invalid(
                    "The continuation marker belongs to another query; start from the beginning.")
            }
            start = marker
        }
        for owner in owners where start.map({ owner >= $0.owner }) ?? true {
            var part = request
            part.continuationMarker = start?.owner == owner ? start?.marker : nil
            if start?.owner == owner, start?.marker == nil { continue }
            let answer = try await answer(part, in: database.context.viewing(owner), stores)
            if answer.records.isEmpty, answer.continuationMarker == nil { continue }
            let isLast = answer.continuationMarker == nil && owner == owners.last
            return Answer(
                records: answer.records,
                continuationMarker: isLast
                    ? nil
                    : SharedContinuation(owner: owner, marker: answer.continuationMarker).text)
        }
        return Answer(records: [])
    }
}

extension [RecordResult] {
    /// The stored size of the records in bytes.
    var storedBytes: Int {
        reduce(0) { bytes, result in
            guard case .record(let record) = result else { return bytes }
            return bytes + record.storedBytes
        }
    }
}

extension RecordDictionary {
    /// The stored size of the record in bytes.
    var storedBytes: Int {
        if case .encoded(let payload) = fields { payload.count } else { 0 }
    }
}

/// Where a query over several owners' zones continues: within an owner's zones, or after them.
///
/// Base64 of the counted owner and the optional marker of that owner's part, which is encrypted itself: a forged one only
/// gets what the query answers anyway.
private struct SharedContinuation {
    var owner: String
    var marker: String?

    var text: String {
        var writer = ByteWriter()
        writer.write(owner)
        writer.write(marker)
        return Base64.text(writer.bytes)
    }

    init(owner: String, marker: String?) {
        self.owner = owner
        self.marker = marker
    }

    init?(text: String) {
        guard let bytes = Base64.bytes(text) else { return nil }
        var reader = ByteReader(bytes)
        do {
            owner = try reader.string()
            marker = try reader.optionalString()
        } catch {
            // Not made by this service: the query refuses it.
            return nil
        }
    }
}
