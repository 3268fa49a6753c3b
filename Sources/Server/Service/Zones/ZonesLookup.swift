import StratusRecords
import StratusStorage
import StratusWire

extension ZonesLookup: ServedEndpoint {
    public static let access = EndpointAccess.read

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try context.checkCount(request.zones.count)
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context)
        }
        let seal = try await context.service.seal()
        let now = context.service.settings.nowMilliseconds()
        return try await context.service.store(for: address).read { reader in
            let tokens = ChangeTokens(
                seal: seal, address: address, incarnation: try reader.incarnation,
                nowMilliseconds: now)
            return Answer(
                zones: try request.zones.map { zoneID in
                    do {
                        let zone = try context.existingZone(
                            named: context.existingZoneName(zoneID), reader)
                        var answer = ZoneDictionary(
                            zone.row, in: context, tokens: tokens, access: zone.rights.access)
                        answer.shareRecordName = try context.zoneShare(of: zone.row, reader)
                        return .zone(answer)
                    } catch let error as ServiceError {
                        return .failure(ZoneFailure(zoneID: zoneID, error: error))
                    }
                })
        }
    }
}
