import StratusRecords
import StratusStorage

extension AssetReceipt {
    /// The asset as clients see it.
    ///
    /// The checksums are codes of the content's digest under a key of the database, so that they do not show whether
    /// another database has the same content. `wrappingKey` and `referenceChecksum` are present because clients
    /// expect them in private databases; nothing is encrypted with them.
    init(_ row: AssetRow, in database: DatabaseAddress, signer: TokenSigner) {
        let content = ChangeToken.mark(of: database) + row.blob.sha256
        self.init(
            fileChecksum: Self.checksum(signer.code(of: content, for: .fileChecksum)),
            sizeBytes: row.sizeBytes)
        guard case .private = database.tenant else { return }
        referenceChecksum = Self.checksum(signer.code(of: content, for: .referenceChecksum))
        wrappingKey = Base64.text(Array(signer.code(of: content, for: .wrappingKey).prefix(16)))
    }

    /// One byte for the kind and twenty of a code, in base64: the form of CloudKit's checksums.
    private static func checksum(_ code: [UInt8]) -> String {
        Base64.text([1] + code.prefix(20))
    }

    /// The value as it is stored: the name of its blob is in the place of a receipt.
    func stored(as blob: BlobName, fileName: String?) -> AssetReceipt {
        var value = self
        value.receipt = StoredAssets.text(of: blob)
        value.fileName = fileName
        value.downloadURL = nil
        return value
    }
}
