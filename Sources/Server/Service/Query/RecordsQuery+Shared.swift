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
    ///
    /// An owner whose database cannot answer the query within its limits, such as one without room for an index, is left
    /// out, so that the others are answered. The request after the last page then fails.
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
        var leftOut = start?.leftOut.flatMap { owners.contains($0) ? $0 : nil }
        var failure = leftOut.map { ServiceError.leftOutOfQuery($0) }
        for owner in owners where start.map({ owner >= $0.owner }) ?? true {
            var part = request
            part.continuationMarker = start?.owner == owner ? start?.marker : nil
            if start?.owner == owner, start?.marker == nil { continue }
            database.context.chargeForOwner()
            let page: Answer
            do {
                page = try await answer(part, in: database.context.viewing(owner), stores)
            } catch let error as ServiceError where error.frameworkCode == .limitExceeded {
                // Thrown when the others' zones have been answered.
                leftOut = leftOut ?? owner
                failure = failure ?? error
                continue
            }
            if page.records.isEmpty, page.continuationMarker == nil { continue }
            let isLast =
                page.continuationMarker == nil && owner == owners.last && leftOut == nil
            return Answer(
                records: page.records,
                continuationMarker: isLast
                    ? nil
                    : SharedContinuation(
                        owner: owner, marker: page.continuationMarker, leftOut: leftOut
                    ).text)
        }
        if let failure { throw failure }
        return Answer(records: [])
    }
}

extension ServiceError {
    fileprivate static func leftOutOfQuery(_ owner: String) -> ServiceError {
        overLimit(
            """
            Records in the zones of the user \(owner) are missing from the results, because the query exceeds \
            a limit in that user's database; query one of these zones for the reason.
            """)
    }
}

/// Where a query over several owners' zones continues: within an owner's zones, or after them.
///
/// Base64 of the counted owner, the optional marker of that owner's part, which is encrypted itself, and perhaps an owner
/// who was left out: a forged one only gets what the query answers anyway.
private struct SharedContinuation {
    var owner: String
    var marker: String?
    /// The first owner whose records are missing from the pages so far.
    var leftOut: String?

    var text: String {
        var writer = ByteWriter()
        writer.write(owner)
        writer.write(marker)
        if let leftOut { writer.write(leftOut) }
        return Base64.text(writer.bytes)
    }

    init(owner: String, marker: String?, leftOut: String?) {
        self.owner = owner
        self.marker = marker
        self.leftOut = leftOut
    }

    init?(text: String) {
        guard let bytes = Base64.bytes(text) else { return nil }
        var reader = ByteReader(bytes)
        do {
            owner = try reader.string()
            marker = try reader.optionalString()
            leftOut = try reader.isAtEnd ? nil : reader.string()
        } catch {
            // Not made by this service: the query refuses it.
            return nil
        }
    }
}
