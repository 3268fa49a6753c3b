import StratusRecords
import StratusStorage
import StratusWire

/// The receipts of a modify request, looked up before its transaction.
///
/// A value without a receipt is valid only in the record that it was read from: there it is found by its checksum.
struct AssetClaims: Sendable {
    /// Values as they are stored, by zone and receipt.
    private var values: [Key: AssetReceipt] = [:]

    private struct Key: Hashable {
        var zoneName: String
        var receipt: String
    }

    init() {}

    static func make(
        _ request: RecordsModify.Request, _ keys: [RecordKey?], in context: RequestContext,
        store: any RecordStore, signer: TokenSigner
    ) async throws -> AssetClaims {
        var claims = AssetClaims()
        var wanted: [Key: UploadReceipt] = [:]
        let database = ChangeToken.mark(of: store.address)
        let now = context.nowMilliseconds
        for (operation, key) in zip(request.operations, keys) {
            guard let key, case .values(let fields) = operation.record.fields else { continue }
            for receipt in fields.lazy.flatMap(\.receipts) {
                let key = Key(zoneName: key.zoneName, receipt: receipt)
                guard wanted[key] == nil, let upload = UploadReceipt(text: receipt, signer: signer),
                    upload.databaseMark == database, upload.zoneName == key.zoneName,
                    upload.user == context.caller.userRecordName, now < upload.endMilliseconds
                else { continue }
                wanted[key] = upload
            }
        }
        guard !wanted.isEmpty else { return claims }
        let digests = Set(wanted.values.map(\.sha256))
        let rows = try await store.read { reader in
            try digests.reduce(into: [[UInt8]: AssetRow]()) { $0[$1] = try reader.asset($1) }
        }
        for (key, upload) in wanted {
            guard let row = rows[upload.sha256] else { continue }
            claims.values[key] = AssetReceipt(row, in: store.address, signer: signer)
                .stored(as: row.blob, fileName: upload.fileName)
        }
        return claims
    }

    /// The value that is stored for the one that was sent.
    ///
    /// - Parameter old: The record's fields as they are stored.
    /// - Throws: ``ServiceError`` when the value has no valid receipt and was not in the record before.
    func stored(
        _ value: AssetReceipt, in zoneName: String, old: [UInt8]
    ) throws -> AssetReceipt {
        if let receipt = value.receipt {
            guard let stored = values[Key(zoneName: zoneName, receipt: receipt)] else {
                throw ServiceError.unknownReceipt
            }
            return stored
        }
        guard let checksum = value.fileChecksum, !StoredAssets.blobs(in: old).isEmpty else {
            throw ServiceError.missingReceipt
        }
        let held = try RecordFields.encoded(old).values().lazy.flatMap(\.assets)
        guard let stored = held.first(where: { $0.fileChecksum == checksum }) else {
            throw ServiceError.missingReceipt
        }
        return stored
    }
}

extension Field {
    /// The assets in the field, those of a list in order.
    var assets: [AssetReceipt] { value?.assets ?? [] }

    fileprivate var receipts: [String] { assets.compactMap(\.receipt) }
}

extension RecordDictionary {
    /// Whether the record's fields have assets that can only be identified by what is stored.
    var hasAssetsWithoutReceipt: Bool {
        guard case .values(let fields) = fields else { return false }
        return fields.contains { $0.assets.contains { $0.receipt == nil } }
    }
}
