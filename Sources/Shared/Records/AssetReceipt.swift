/// What the protocol sends about an asset, whose bytes are stored apart from its record.
public struct AssetReceipt: Hashable, Sendable {
    /// Identifies the content within its database, in Base64; for a file that was not uploaded, `sha256:` and a hash.
    public var fileChecksum: String?
    /// The size of the content in bytes; `size` in the protocol.
    public var sizeBytes: Int64?
    /// A checksum that only private databases have, for clients that expect it.
    public var referenceChecksum: String?
    /// A key that only private databases have, for clients that expect it; nothing is encrypted with it.
    public var wrappingKey: String?
    /// Proof of an upload; only in requests.
    public var receipt: String?
    /// The name of the uploaded file, percent-encoded for use in an address; only where values are stored.
    public var fileName: String?
    /// The address at which the bytes can be fetched; only in answers.
    public var downloadURL: String?

    /// Makes a value of those members that the protocol sent or needs.
    public init(
        fileChecksum: String? = nil, sizeBytes: Int64? = nil, referenceChecksum: String? = nil,
        wrappingKey: String? = nil, receipt: String? = nil, fileName: String? = nil,
        downloadURL: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.sizeBytes = sizeBytes
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
        self.receipt = receipt
        self.fileName = fileName
        self.downloadURL = downloadURL
    }
}

extension AssetReceipt {
    /// The prefix of the checksum of a file that only this device has. The service's checksums are
    /// Base64, which has no colon.
    package static let localPrefix = "sha256:"

    /// Whether the file has not been uploaded yet.
    package var isLocal: Bool { fileChecksum?.hasPrefix(Self.localPrefix) ?? false }
}

extension FieldValue {
    /// The assets of the value, those of a list in order.
    package var assets: [AssetReceipt] {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let assets): assets
        default: []
        }
    }
}
