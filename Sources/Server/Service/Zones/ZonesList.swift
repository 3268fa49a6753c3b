import StratusRecords
import StratusStorage
import StratusWire

extension ZonesList: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .read, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Lists the zones of the database; in the shared one those in which something is shared with the caller now.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let signer = try await call.components.tokenSigner()
        let databases = call.components.databases
        guard let address = try call.context.databaseAddress() else {
            return try await sharedAnswer(call.request, in: call.context, databases, signer)
        }
        return try await databases.store(for: address).read { reader in
            let tokens = call.context.changeTokens(signer, of: address, reader)
            let zones = try reader.zones()
            // The rows of deleted zones are read too.
            call.context.work.add(zonesRead: try reader.zoneCount())
            return Answer(
                try zones.map { row in
                    var zone = try ZoneDictionary(row, in: call.context, tokens: tokens)
                    if !call.request.wantsAtomic { zone.isAtomic = nil }
                    zone.shareRecordName = try call.context.zoneShare(of: row, reader)
                    return .success(zone)
                })
        }
    }
}

extension ZonesList {
    /// The zones in which something is shared with the caller now.
    ///
    /// - Throws: ``ServiceError`` when one of them cannot be looked at now: a list without it would mean that it is
    ///   gone.
    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, databases)
        let zones = try await database.zones().map {
            ZoneIDDictionary(zoneName: $0.name, ownerRecordName: $0.owner)
        }
        let looked = try await ZonesLookup.sharedResults(zones, in: database, databases, signer)
        return Answer(
            try looked.compactMap { result -> ZoneResult? in
                switch result {
                case .success(var zone):
                    if !request.wantsAtomic { zone.isAtomic = nil }
                    return .success(zone)
                case .failure(let failure) where failure.error.code == .zoneNotFound: return nil
                case .failure(let failure): throw failure.error
                }
            })
    }
}

extension RequestContext {
    /// The share of a whole zone, for callers that use the extension: everyone who sees a zone that is shared as a
    /// whole sees its share.
    func zoneShare(of zone: ZoneRow, _ reader: any StoreReader) throws -> String? {
        guard caller.wantsExtensions, zone.hasFeed,
            let share = try reader.shares(in: zone.key, limit: 1).first, share.root == nil
        else { return nil }
        return share.name
    }
}

extension ZoneDictionary {
    /// An existing zone. Its token is at the zone's newest change.
    init(
        _ row: ZoneRow, in context: RequestContext, tokens: ChangeTokens, access: Int64 = 0
    ) throws {
        let isCustom = row.name != ZoneID.defaultZoneName
        self.init(
            zoneID: context.zoneID(row.name),
            syncToken: isCustom ? try tokens.token(row, access: access, cursor: row.version) : nil,
            isAtomic: isCustom, isDeleted: false)
        if context.caller.wantsExtensions, row.encryptionScope != .perRecord {
            encryptionScope = row.encryptionScope
        }
    }
}
