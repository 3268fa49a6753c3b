/// An asset of a database as it is stored: which blob has its bytes, and how many records hold it.
public struct AssetRow: Hashable, Sendable {
    public var blob: BlobName
    public var sizeBytes: Int64
    /// The records that hold it.
    public var references: Int64
    /// When it was last uploaded, or found without a record, in milliseconds since 1970; nil when the
    /// last record let go of it since.
    public var touchedMilliseconds: Int64?

    public init(
        blob: BlobName, sizeBytes: Int64, references: Int64 = 0, touchedMilliseconds: Int64?
    ) {
        self.blob = blob
        self.sizeBytes = sizeBytes
        self.references = references
        self.touchedMilliseconds = touchedMilliseconds
    }
}

/// What can be asked about a database's assets.
public protocol AssetReader {
    /// The asset of this content.
    func asset(_ sha256: [UInt8]) throws -> AssetRow?

    /// The bytes of all assets of the database, those that no record holds included. Costs one row.
    var assetBytes: Int64 { get throws }
}

/// What can be done to a database's assets in a transaction.
public protocol AssetWriter {
    /// Notes an asset whose blob was kept. When the database has that content already, it keeps its old
    /// blob and is touched.
    ///
    /// - Returns: The asset as it is stored: with another blob's name, the new one is not needed.
    func admit(_ row: AssetRow) throws -> AssetRow

    /// Says which assets a record holds, and counts.
    ///
    /// - Throws: ``StorageError`` when one of them is not there.
    func setAssets(_ digests: Set<[UInt8]>, of record: String, in zone: ZoneRow.Key) throws

    /// Gives all assets that lost their last record this time.
    func touchUnreferencedAssets(atMilliseconds milliseconds: Int64) throws

    /// Removes the rows of assets without a record that were touched before a time, the longest
    /// untouched first. Their blobs are the caller's to delete, after the transaction.
    func takeUnreferencedAssets(touchedBefore milliseconds: Int64, limit: Int) throws -> [AssetRow]
}
