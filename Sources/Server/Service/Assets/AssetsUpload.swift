import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Issues the addresses to which assets are uploaded.
///
/// Where it is decided:
/// - to which zone and database an asset belongs: `AssetZone`;
/// - who may upload: `checkWriting(in:_:_:_:)` here; who may save the record with the asset: `RecordsModify`;
/// - how many assets a request may name: `checkAssetCount(_:)` here;
/// - how large an asset may be, and whether its address is still valid, when the bytes arrive:
///   `AssetByteTransfer.checkSize(_:after:_:)`, `AssetByteTransfer.freeAssetBytes(at:)`, `AssetByteTransfer.uploadAddress(_:)`;
/// - whether a receipt is good when the record is saved: `AssetClaims`.
extension AssetsUpload: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Issues an address per asset. Whether the caller may save the record is decided when it is saved. A caller who
    /// may save no record in the zone gets no address, since the bytes would count for the zone's owner, and in the
    /// public database for everyone.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkAssetCount(call.request.tokens.count)
        let signer = try await call.components.tokenSigner()
        let zone = try await AssetZone(
            call.request.zoneID, in: call.context, call.components.databases, signer)
        try await checkWriting(
            in: zone, call.context, call.components.databases, call.components.schemas)
        let settings = call.components.settings
        var address = UploadAddress(
            database: zone.database, zoneName: zone.name, user: try call.context.user(),
            endMilliseconds: call.context.nowMilliseconds
                + Int64(call.context.limits.uploadAddressSeconds * 1_000),
            number: 0)
        return Answer(
            call.request.tokens.map { item in
                if let error = refusal(of: item) {
                    return .failure(
                        AssetFailure(
                            recordName: item.recordName, fieldName: item.fieldName, error: error))
                }
                address.number = settings.world.randomNumber()
                return .success(
                    Token(
                        recordName: item.recordName ?? settings.world.newUUID(),
                        fieldName: item.fieldName,
                        url: call.context.origin + UploadAddress.path
                            + address.text(signedBy: signer)))
            })
    }

    private static func checkWriting(
        in zone: AssetZone, _ context: RequestContext, _ databases: Databases,
        _ schemas: SchemaCache
    ) async throws {
        let mayWrite: Bool
        switch context.scope {
        case .public:
            // In development, everyone who is signed in may save a record of a new type.
            guard context.address.environment != .development else { return }
            let schema = try await schemas.schema(of: context.address)
            let access = context.recordAccess(schema)
            mayWrite = schema.types.keys.contains { access[$0].mayWriteSome }
        case .shared:
            mayWrite = try await databases.store(for: zone.database).read { reader in
                try context.livingZone(named: zone.name, reader)?.rights.canWriteSomewhere ?? false
            }
        case .private, nil: return
        }
        guard mayWrite else { throw ServiceError.notPermitted }
    }

    private static func refusal(of item: Item) -> ServiceError? {
        guard item.recordName.map(Names.isRecordName) ?? true else {
            return .badRecordName
        }
        guard Names.isIdentifier(item.fieldName) else {
            return .fieldName(item.fieldName)
        }
        return nil
    }
}

extension RequestContext {
    /// Checks how many assets one request asks for.
    func checkAssetCount(_ count: Int) throws {
        guard count <= limits.assetTokensPerRequest else {
            throw ServiceError.overLimit(
                "The request asks for more than \(limits.assetTokensPerRequest) assets; ask for fewer at a time."
            )
        }
    }
}
