import StratusRecords
import StratusStorage

/// Where an asset may be sent to: the sealed part of the address that `assets/upload` answers.
///
/// Format 1, before sealing: the byte 1, the database, the zone's name, the user, and the end of its
/// validity in milliseconds since 1970. It says nothing of content, so it cannot be asked about any.
struct UploadAddress: Hashable {
    static let path = "/assets/put/"
    private static let format: UInt8 = 1

    var database: DatabaseAddress
    var zoneName: String
    var user: String
    var endMilliseconds: Int64

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(database)
        writer.write(zoneName)
        writer.write(user)
        writer.write(number: endMilliseconds)
        return Base64.addressText(signer.sealed(writer.bytes, for: .uploadAddress))
    }
}

extension UploadAddress {
    /// Reads an address; nil when it is none of ours.
    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(addressText: text),
            let bytes = signer.opened(sealed, for: .uploadAddress)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            guard try reader.byte() == Self.format else { return nil }
            guard let database = try reader.databaseAddress() else { return nil }
            self.database = database
            zoneName = try reader.string()
            user = try reader.string()
            endMilliseconds = try reader.number()
        } catch {
            // Sealed by us yet malformed: a format of another version, which is as good as none.
            return nil
        }
    }
}

/// Where an asset can be fetched: the sealed part of a `downloadURL`.
///
/// Format 1, before sealing: the byte 1, the database, the blob's digest and generation, and the end of
/// its validity in milliseconds since 1970. Made for those who may read a record that holds the asset.
struct DownloadAddress: Hashable {
    static let path = "/assets/get/"
    private static let format: UInt8 = 1

    var database: DatabaseAddress
    var blob: BlobName
    var endMilliseconds: Int64

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(database)
        writer.write(counted: blob.sha256)
        writer.write(number: blob.generation)
        writer.write(number: endMilliseconds)
        return Base64.addressText(signer.sealed(writer.bytes, for: .downloadAddress))
    }
}

extension DownloadAddress {
    /// Reads an address; nil when it is none of ours.
    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(addressText: text),
            let bytes = signer.opened(sealed, for: .downloadAddress)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            guard try reader.byte() == Self.format else { return nil }
            guard let database = try reader.databaseAddress() else { return nil }
            self.database = database
            blob = BlobName(sha256: try reader.counted(), generation: try reader.number())
            endMilliseconds = try reader.number()
        } catch {
            // As above.
            return nil
        }
    }
}

/// The proof that somebody had the bytes of an asset: what turns an uploaded asset into a saved one.
///
/// Bound to the database, the zone of the later save and the user. Format 1, before sealing: the byte 1,
/// the database's mark, the zone's name, the user, the content's digest, and the end of its validity
/// in milliseconds since 1970.
struct UploadReceipt: Hashable {
    private static let format: UInt8 = 1
    private static let markBytes = 16

    /// As change tokens have it.
    var databaseMark: [UInt8]
    var zoneName: String
    var user: String
    var sha256: [UInt8]
    var endMilliseconds: Int64

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(raw: databaseMark)
        writer.write(zoneName)
        writer.write(user)
        writer.write(counted: sha256)
        writer.write(number: endMilliseconds)
        return Base64.text(signer.sealed(writer.bytes, for: .assetReceipt))
    }
}

extension UploadReceipt {
    /// Reads a receipt; nil when it is none of ours.
    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(text),
            let bytes = signer.opened(sealed, for: .assetReceipt)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            guard try reader.byte() == Self.format else { return nil }
            databaseMark = try reader.raw(Self.markBytes)
            zoneName = try reader.string()
            user = try reader.string()
            sha256 = try reader.counted()
            endMilliseconds = try reader.number()
        } catch {
            // As above.
            return nil
        }
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
    fileprivate mutating func databaseAddress() throws(Malformed) -> DatabaseAddress? {
        let container = try string()
        guard let environment = ContainerEnvironment(rawValue: try string()) else { return nil }
        return DatabaseAddress(
            ContainerAddress(container: container, environment: environment),
            try optionalString().map { .private(owner: $0) } ?? .public)
    }
}
