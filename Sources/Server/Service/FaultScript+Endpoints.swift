import StratusRecords
import StratusWire

// What the fault script must know of endpoints: the zones that a request names, and what it is answered
// when its change tokens have expired.

extension ServedEndpoint {
    public static func zoneNames(in request: Request) -> Set<String> { [] }

    public static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try await answer(request, in: context)
    }
}

extension RecordsModify {
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.operations.map { name(of: $0.record.zoneID ?? request.zoneID) })
    }
}

extension RecordsLookup {
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.records.map { name(of: $0.zoneID ?? request.zoneID) })
    }
}

extension RecordsQuery {
    public static func zoneNames(in request: Request) -> Set<String> {
        [name(of: request.zoneID)]
    }
}

extension ZonesLookup {
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.zones.map(\.zoneName))
    }
}

extension ZonesModify {
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.operations.map(\.zoneID.zoneName))
    }
}

extension ChangesZone {
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.zones.map(\.zoneID.zoneName))
    }

    /// Zones asked about with a token have lost it; the others are served.
    public static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        var rest = request
        rest.zones.removeAll { $0.syncToken != nil }
        var served =
            try await rest.zones.isEmpty
            ? [][...] : answer(rest, in: context).zones[...]
        return Answer(
            zones: request.zones.compactMap { item in
                item.syncToken == nil
                    ? served.popFirst()
                    : .failure(ZoneFailure(zoneID: item.zoneID, error: .expiredChangeToken))
            })
    }
}

extension RecordsChanges {
    public static func zoneNames(in request: Request) -> Set<String> {
        [name(of: request.zoneID)]
    }

    public static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard request.syncToken == nil else { throw ServiceError.expiredChangeToken }
        return try await answer(request, in: context)
    }
}

extension ZonesChanges {
    public static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard request.metaSyncToken == nil else { throw ServiceError.expiredChangeToken }
        return try await answer(request, in: context)
    }
}

extension ChangesDatabase {
    public static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard request.syncToken == nil else { throw ServiceError.expiredChangeToken }
        return try await answer(request, in: context)
    }
}

private func name(of zoneID: ZoneIDDictionary?) -> String {
    zoneID?.zoneName ?? ZoneID.defaultZoneName
}
