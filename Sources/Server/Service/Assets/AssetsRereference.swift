import StratusRecords
import StratusStorage
import StratusWire

extension AssetsRereference: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        // As many records are looked up.
        cost: { Double($0.assets.count) / 160 }, zones: { _ in [] }, link: { _, _ in })

    /// Issues new receipts for assets of records that the caller may read by `records/lookup`.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkAssetCount(call.request.assets.count)
        let databases = call.components.databases
        let signer = try await call.components.tokenSigner()
        let source = try await AssetZone(call.request.zoneID, in: call.context, databases, signer)
        let target = try await AssetZone(
            call.request.targetZoneID ?? call.request.zoneID, in: call.context, databases, signer)
        guard source.database == target.database else {
            throw ServiceError.invalid(
                "The target zone is in another owner's database than the asset; upload the asset there."
            )
        }
        let receipts = NewReceipts(
            signer: signer, zone: target, user: try call.context.user(),
            endMilliseconds: call.context.nowMilliseconds
                + Int64(call.context.limits.assetReceiptSeconds * 1_000))
        let lookup = RecordsLookup.Request(
            records: call.request.assets.map {
                .init(recordName: $0.recordName, desiredKeys: [$0.fieldName])
            }, zoneID: call.request.zoneID)
        let found = try await call.answer(RecordsLookup.self, lookup).records
        return Answer(
            try zip(call.request.assets, found).map { item, result in
                do {
                    return .success(try receipts.renewed(held(by: result)))
                } catch let error as ServiceError {
                    return .failure(
                        AssetFailure(
                            recordName: item.recordName, fieldName: item.fieldName, error: error))
                }
            })
    }

    /// The asset in a record's only field, as it is stored.
    private static func held(by result: RecordResult) throws -> AssetReceipt {
        switch result {
        case .failure(let failure): throw failure.error
        case .deleted: throw ServiceError.recordNotFound
        case .record(let record):
            switch try record.fields.values().first?.value {
            case .asset(let asset): return asset
            case .assetList:
                throw ServiceError.invalid(
                    "The field is a list of assets; name a field with one asset.")
            default: throw ServiceError.assetNotFound
            }
        }
    }
}

/// Makes receipts for assets that are stored already.
private struct NewReceipts {
    let signer: TokenSigner
    let zone: AssetZone
    let user: String
    let endMilliseconds: Int64

    func renewed(_ asset: AssetReceipt) throws -> AssetReceipt {
        guard let blob = asset.receipt.flatMap(StoredAssets.blob) else {
            throw ServiceError.assetNotFound
        }
        var asset = asset
        asset.receipt = UploadReceipt(
            databaseMark: ChangeToken.mark(of: zone.database), zoneName: zone.name, user: user,
            sha256: blob.sha256, endMilliseconds: endMilliseconds, fileName: asset.fileName
        ).text(signedBy: signer)
        asset.fileName = nil
        return asset
    }
}
