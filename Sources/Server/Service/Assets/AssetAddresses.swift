import StratusRecords
import StratusStorage

/// Where an asset may be uploaded: the signed part of the address that `assets/upload` answers.
///
/// Format 1, before signing: the byte 1, the database, the zone's name, the user, and the end of its validity in
/// milliseconds since 1970. It does not identify any content, so it cannot be used to test whether the service has
/// some. Format 2 adds a random number of eight bytes: the kept bytes of a resumable upload are found by its address, so
/// no two assets may have the same.
struct UploadAddress: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.uploadAddress
    static let isInAddresses = true
    static let path = "/assets/put/"
    private static let format: UInt8 = 2
    private static let formatWithoutNumber: UInt8 = 1

    var database: DatabaseAddress
    var zoneName: String
    var user: String
    var endMilliseconds: Int64
    /// Random; 0 in an address of format 1.
    var number: UInt64

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(database)
        writer.write(zoneName)
        writer.write(user)
        writer.write(number: endMilliseconds)
        writer.write(number: number)
    }
}

extension UploadAddress {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        let format = try reader.byte()
        guard format == Self.format || format == Self.formatWithoutNumber else {
            throw ByteReader.Malformed()
        }
        database = try reader.databaseAddress()
        zoneName = try reader.string()
        user = try reader.string()
        endMilliseconds = try reader.number()
        number = try format == Self.format ? reader.number() : 0
    }
}

/// Where an asset can be fetched: the signed part of a `downloadURL`.
///
/// Format 1, before signing: the byte 1, the database, the blob's digest and generation, and the end of its validity in
/// milliseconds since 1970. Format 2 adds the file's name. It is given to callers who may read a record that holds the
/// asset.
struct DownloadAddress: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.downloadAddress
    static let isInAddresses = true
    static let path = "/assets/get/"

    var database: DatabaseAddress
    var blob: BlobName
    var endMilliseconds: Int64
    /// As ``AssetReceipt/fileName`` has it.
    var fileName: String?

    func write(to writer: inout ByteWriter) {
        writer.write(NameFormat.of(fileName))
        writer.write(database)
        writer.write(counted: blob.sha256)
        writer.write(number: blob.generation)
        writer.write(number: endMilliseconds)
        if let fileName { writer.write(fileName) }
    }
}

extension DownloadAddress {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        let hasName = try NameFormat.hasName(try reader.byte())
        database = try reader.databaseAddress()
        blob = BlobName(sha256: try reader.counted(), generation: try reader.number())
        endMilliseconds = try reader.number()
        fileName = hasName ? try reader.string() : nil
    }
}

/// The proof that a client had the bytes of an asset: with it, a record can be saved with the asset.
///
/// Bound to the database, the zone of the later save and the user. Format 1, before signing: the byte 1, the database's
/// mark, the zone's name, the user, the content's digest, and the end of its validity in milliseconds since 1970.
/// Format 2 adds the file's name.
struct UploadReceipt: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.assetReceipt
    static let isInAddresses = false
    private static let markBytes = 16

    /// The same mark as in change tokens.
    var databaseMark: [UInt8]
    var zoneName: String
    var user: String
    var sha256: [UInt8]
    var endMilliseconds: Int64
    /// As ``AssetReceipt/fileName`` has it.
    var fileName: String?

    func write(to writer: inout ByteWriter) {
        writer.write(NameFormat.of(fileName))
        writer.write(raw: databaseMark)
        writer.write(zoneName)
        writer.write(user)
        writer.write(counted: sha256)
        writer.write(number: endMilliseconds)
        if let fileName { writer.write(fileName) }
    }
}

extension UploadReceipt {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        let hasName = try NameFormat.hasName(try reader.byte())
        databaseMark = try reader.raw(Self.markBytes)
        zoneName = try reader.string()
        user = try reader.string()
        sha256 = try reader.counted()
        endMilliseconds = try reader.number()
        fileName = hasName ? try reader.string() : nil
    }
}

/// The first byte of a format that may end with a file's name.
private enum NameFormat {
    private static let bare: UInt8 = 1
    private static let named: UInt8 = 2

    static func of(_ fileName: String?) -> UInt8 { fileName == nil ? bare : named }

    static func hasName(_ format: UInt8) throws(ByteReader.Malformed) -> Bool {
        guard format == bare || format == named else { throw ByteReader.Malformed() }
        return format == named
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ address: DatabaseAddress) {
        write(address.containerAddress.container)
        write(address.containerAddress.environment.rawValue)
        switch address.tenant {
        case .public: write(nil as String?)
        case .private(let owner): write(owner as String?)
        }
    }
}

extension ByteReader {
    fileprivate mutating func databaseAddress() throws(Malformed) -> DatabaseAddress {
        DatabaseAddress(
            ContainerAddress(container: try string(), environment: try environment()),
            try optionalString().map { .private(owner: $0) } ?? .public)
    }
}
