import StratusRecords
import StratusStorage
import StratusWire

extension ZonesLookup: ServedEndpoint {
    public static let access = EndpointAccess.read
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.items.map(\.zoneName))
    }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkCount(request.items.count)
        return try await answer(
            request, in: context, components.databases, try await components.tokenSigner())
    }

    static func answer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws -> Answer {
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context, databases, signer)
        }
        return try await databases.store(for: address).read { reader in
            let tokens = ChangeTokens(
                signer: signer, address: address, reader: reader,
                nowMilliseconds: context.nowMilliseconds)
            return Answer(
                try request.items.map { zoneID in
                    do {
                        let zone = try context.existingZone(
                            named: context.existingZoneName(zoneID), reader)
                        var answer = try ZoneDictionary(
                            zone.row, in: context, tokens: tokens, access: zone.rights.access)
                        answer.shareRecordName = try context.zoneShare(of: zone.row, reader)
                        return .success(answer)
                    } catch let error as ServiceError {
                        return .failure(ZoneFailure(zoneID: zoneID, error: error))
                    }
                })
        }
    }
}
