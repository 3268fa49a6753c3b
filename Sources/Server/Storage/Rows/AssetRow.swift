/// An asset of a database as it is stored: the blob with its bytes, and how many records hold it.
public struct AssetRow: Hashable, Sendable {
    /// The blob that has the asset's bytes.
    public var blob: BlobName
    /// The size of the content, regardless of how many records hold it.
    public var sizeBytes: Int64
    /// The records that hold it.
    public var references: Int64
    /// When it was last uploaded, or found unreferenced, in milliseconds since 1970; nil when a record has referenced
    /// or released it since then.
    public var touchedMilliseconds: Int64?

    /// Makes an asset's row; by default no record holds the asset.
    public init(
        blob: BlobName, sizeBytes: Int64, references: Int64 = 0, touchedMilliseconds: Int64?
    ) {
        self.blob = blob
        self.sizeBytes = sizeBytes
        self.references = references
        self.touchedMilliseconds = touchedMilliseconds
    }
}

/// Times say whether a record has held an asset since it was last uploaded: that of an upload is even, and that of an asset
/// that was found unreferenced later is odd.
extension AssetRow {
    /// The time of an upload, at most a millisecond earlier.
    package static func uploadMilliseconds(at milliseconds: Int64) -> Int64 { milliseconds & ~1 }

    /// The time at which assets are found unreferenced, at most a millisecond later.
    package static func releaseMilliseconds(at milliseconds: Int64) -> Int64 { milliseconds | 1 }

    /// Whether no record has held the asset since it was last uploaded.
    package var isNewUpload: Bool {
        guard references == 0, let touchedMilliseconds else { return false }
        return touchedMilliseconds & 1 == 0
    }
}

/// Reads a database's assets.
public protocol AssetReader {
    /// The asset of this content.
    func asset(_ sha256: [UInt8]) throws -> AssetRow?

    /// Among the assets without a record that were touched last, as many as `count`, those whose blobs' generations
    /// begin with these 32 bits, the last touched first. Reads the rows of all `count`.
    func unreferencedAssets(generationPrefix: UInt32, amongLast count: Int) throws -> [AssetRow]

    /// The bytes of all assets of the database, those that no record holds included. Costs one row.
    var assetBytes: Int64 { get throws }
}

/// Changes a database's assets in a transaction.
public protocol AssetWriter {
    /// Adds an asset whose blob was kept. If the database has that content already, the old blob stays and the asset's
    /// time is updated.
    ///
    /// - Returns: The asset as it is stored; when it names another blob, the new blob is not needed.
    func admit(_ row: AssetRow) throws -> AssetRow

    /// Sets the time of all assets that lost their last record since the last call.
    func touchUnreferencedAssets(atMilliseconds milliseconds: Int64) throws

    /// Removes the rows of assets without a record that were touched before a time, the oldest first. The caller
    /// deletes their blobs after the transaction.
    func takeUnreferencedAssets(touchedBefore milliseconds: Int64, limit: Int) throws -> [AssetRow]
}

/// Changes in a transaction which records hold which assets.
public protocol AssetHoldWriter {
    /// Replaces the set of assets that a record holds, and counts the references.
    ///
    /// - Throws: ``StorageError`` when one of them does not exist.
    func setAssets(_ digests: Set<[UInt8]>, of record: String, in zone: ZoneRow.Key) throws
}
