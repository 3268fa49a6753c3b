import StratusRecords
import StratusStorage
import StratusWire

/// The zone of the records that hold an asset or will hold it, and the database that keeps its bytes: for a shared
/// zone, its owner's.
struct AssetZone: Hashable, Sendable {
    var database: DatabaseAddress
    var name: String

    /// Looks a zone up by the rules of `zones/lookup`, so that the caller sees the same zones in both.
    ///
    /// - Throws: ``ServiceError`` with ZONE_NOT_FOUND.
    init(
        _ zoneID: ZoneIDDictionary?, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner
    ) async throws {
        let request = ZonesLookup.Request([zoneID ?? ZoneIDDictionary()])
        switch try await ZonesLookup.answer(request, in: context, databases, signer).items.first {
        case .success(let zone):
            guard let database = context.assetDatabase(of: zone.zoneID) else {
                throw ServiceError.zoneNotFound
            }
            self.database = database
            name = zone.zoneID.zoneName
        case .failure(let failure): throw failure.error
        case nil: throw ServiceError.zoneNotFound
        }
    }
}

extension RequestContext {
    /// The database that keeps the assets of a zone's records, for a zone identifier from an answer.
    func assetDatabase(of zoneID: ZoneIDDictionary?) -> DatabaseAddress? {
        let owner: String?
        switch scope {
        case .public where zoneID?.zoneName ?? ZoneID.defaultZoneName == ZoneID.defaultZoneName:
            return DatabaseAddress(address, .public)
        case .private: owner = caller.userRecordName
        // Shared zones, also when a share is read through the public database.
        case .public, .shared, nil: owner = zoneID?.ownerRecordName
        }
        return owner.map { DatabaseAddress(address, .private(owner: $0)) }
    }
}
