import StratusRecords

/// The bytes of one database's assets, named by their content.
///
/// A blob store knows nothing of records: the database's asset rows (``AssetReader``) name the blobs that are needed. A
/// blob is written once, completely, and never changed. Its row is stored after it.
public protocol BlobStore: Sendable {
    /// Begins a blob, which is invisible until it is kept.
    func begin() async throws -> any BlobWriter

    /// Continues a blob that was begun under a name and not kept, or begins it. The caller must make sure that nothing
    /// else writes to it.
    func partial(_ name: PartialBlobName) async throws -> any PartialBlob

    /// The sizes of an owner's partial blobs, by their names.
    func partialBytes(of owner: PartialBlobName) async throws -> [String: Int64]

    /// Removes partial blobs that were left before a time, in milliseconds since 1970.
    func removePartials(leftBefore milliseconds: Int64) async throws

    /// Opens a blob for reading; nil when there is none of this name.
    func open(_ name: BlobName) async throws -> (any BlobReader)?

    /// Removes a blob; succeeds when there is none. Open readers can still read it.
    func delete(_ name: BlobName) async throws

    /// The blobs whose content's digest begins with a byte, so that all blobs can be listed in 256 parts.
    func blobs(beginningWith byte: UInt8) async throws -> [StoredBlob]
}

/// The name of a blob: the digest of its content, and which of the blobs of that content it is.
///
/// The second part is random, so that deleting an old blob never deletes a new one with the same content. Its first
/// half may say whose upload the blob is.
public struct BlobName: Hashable, Sendable {
    /// 32 bytes.
    public var sha256: [UInt8]
    /// A random number that distinguishes the blobs of the same content.
    public var generation: UInt64

    /// Names one of the blobs of a content.
    public init(sha256: [UInt8], generation: UInt64) {
        self.sha256 = sha256
        self.generation = generation
    }
}

/// A blob that is being written.
public protocol BlobWriter: Sendable {
    /// Appends bytes.
    ///
    /// - Throws: ``StorageError`` with ``StorageError/Code/assetDiskFull`` when the disk is full.
    func write(_ bytes: [UInt8]) async throws

    /// Makes the blob durable and gives it its name.
    ///
    /// - Parameter milliseconds: The time since 1970 that the blob is listed with.
    /// - Parameter name: The name of its content.
    func keep(as name: BlobName, atMilliseconds milliseconds: Int64) async throws

    /// Discards what was written; does nothing after ``keep(as:atMilliseconds:)``.
    func discard() async
}

/// An open blob, which can be read to its end even when it is deleted meanwhile.
public protocol BlobReader: Sendable {
    /// The size of the whole blob.
    var sizeBytes: Int64 { get }

    /// The bytes from an offset on: `count` of them, or fewer at the end of the blob.
    func read(at offset: Int64, count: Int) async throws -> [UInt8]
}

/// A blob in a listing.
public struct StoredBlob: Hashable, Sendable {
    /// The name under which the blob can be opened or deleted.
    public var name: BlobName
    /// When it was kept, in milliseconds since 1970.
    public var keptMilliseconds: Int64

    /// Makes an entry of a listing.
    public init(name: BlobName, keptMilliseconds: Int64) {
        self.name = name
        self.keptMilliseconds = keptMilliseconds
    }
}

extension BlobName {
    private static let digestBytes = 32

    /// `<digest>.<generation>` in hexadecimal digits.
    var fileName: String {
        let number = String(generation, radix: 16)
        return Hexadecimal.text(sha256) + "."
            + String(repeating: "0", count: 16 - number.utf8.count) + number
    }

    /// `aa/bb`: the first two bytes of the digest.
    var folders: (String, String) {
        (Hexadecimal.text([sha256[0]]), Hexadecimal.text([sha256[1]]))
    }

    /// Reads what ``fileName`` wrote; nil for any other name.
    init?(fileName: String) {
        let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 2 * Self.digestBytes,
            let sha256 = Hexadecimal.bytes(parts[0]),
            parts[1].utf8.count == 16, let generation = UInt64(parts[1], radix: 16)
        else { return nil }
        self.init(sha256: sha256, generation: generation)
    }
}
