import StratusRecords
import StratusStorage
import StratusWire

extension AssetsRereference: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// Gives new receipts for assets of records that the caller may read.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard request.assets.count <= context.limits.assetTokensPerRequest else {
            throw ServiceError.overLimit("Ask for fewer assets in one request.")
        }
        guard let address = try context.databaseAddress(),
            let zoneName = context.zoneName(request.zoneID),
            let targetName = context.zoneName(request.targetZoneID ?? request.zoneID)
        else { throw ServiceError.zoneNotFound }
        let service = context.service
        let seal = try await service.seal()
        let user = try context.user()
        let end =
            service.settings.nowMilliseconds() + Int64(context.limits.assetReceiptSeconds * 1_000)
        return try await service.store(for: address).read { reader in
            guard let zone = try reader.livingZone(named: zoneName),
                try reader.livingZone(named: targetName) != nil
            else { throw ServiceError.zoneNotFound }
            let names = Set(request.assets.map(\.recordName))
            let rows = try reader.records(named: Array(names), in: zone.key)
            return Answer(
                assets: try request.assets.map { item in
                    do {
                        guard let row = rows[item.recordName], !row.isDeleted else {
                            throw ServiceError.recordNotFound
                        }
                        var asset = try held(by: row, item.fieldName)
                        guard let blob = asset.receipt.flatMap(StoredAssets.blob) else {
                            throw ServiceError.assetNotFound
                        }
                        asset.receipt = UploadReceipt(
                            databaseMark: ChangeToken.mark(of: address), zoneName: targetName,
                            user: user, sha256: blob.sha256, endMilliseconds: end
                        ).text(sealedBy: seal)
                        return .asset(asset)
                    } catch let error as ServiceError {
                        return .failure(
                            AssetFailure(
                                recordName: item.recordName, fieldName: item.fieldName,
                                error: error))
                    }
                })
        }
    }

    /// The asset in a record's field as it is stored.
    private static func held(by row: RecordRow, _ fieldName: String) throws -> AssetReceipt {
        let field = try RecordFields.encoded(row.payload).values()
            .first { $0.name == fieldName }
        switch field?.value {
        case .asset(let asset): return asset
        case .assetList: throw ServiceError.invalid("The field is a list; name one of one asset.")
        default: throw ServiceError.assetNotFound
        }
    }
}
