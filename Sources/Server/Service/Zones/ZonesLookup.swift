import StratusRecords
import StratusStorage
import StratusWire

extension ZonesLookup: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .read, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { Set($0.items.map(\.zoneName)) }, link: { _, _ in })

    /// Returns the named zones. One that does not exist, or that the caller cannot see, is a ZONE_NOT_FOUND of its own.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.items.count)
        return try await answer(
            call.request, in: call.context, call.components.databases,
            try await call.components.tokenSigner())
    }

    static func answer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws -> Answer {
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context, databases, signer)
        }
        context.work.add(zonesRead: request.items.count)
        return try await databases.store(for: address).read { reader in
            let tokens = context.changeTokens(signer, of: address, reader)
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

extension ZonesLookup {
    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws -> Answer {
        Answer(
            try await sharedResults(
                request.items, in: try await SharedDatabase(context, databases), databases, signer))
    }

    static func sharedResults(
        _ zones: [ZoneIDDictionary], in database: SharedDatabase, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws -> [ZoneResult] {
        try await database.answers(
            zones, zoneID: { $0 }, refused: { .failure(ZoneFailure(zoneID: $0, error: $1)) },
            from: { view, zones in
                try await answer(Request(zones), in: view, databases, signer).items
            })
    }
}
