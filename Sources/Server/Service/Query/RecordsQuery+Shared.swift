import StratusRecords
import StratusStorage
import StratusWire

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
