import Crypto
import StratusRecords
import StratusStorage
import StratusWire

extension AssetsUpload: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// Hands out an address per asset. Who may save the record is decided when it is saved; who may save
    /// none in the zone gets no address, since the bytes would count for the zone's owner.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard request.tokens.count <= context.limits.assetTokensPerRequest else {
            throw ServiceError.overLimit("Ask for fewer assets in one request.")
        }
        let zone = try await AssetZone(request.zoneID, in: context)
        try await checkWriting(in: zone, context)
        let settings = context.service.settings
        let upload = UploadAddress(
            database: zone.database, zoneName: zone.name, user: try context.user(),
            endMilliseconds: settings.nowMilliseconds()
                + Int64(context.limits.uploadAddressSeconds * 1_000)
        ).text(sealedBy: try await context.service.seal())
        return Answer(
            tokens: request.tokens.map { item in
                if let error = objection(to: item) {
                    return .failure(
                        AssetFailure(
                            recordName: item.recordName, fieldName: item.fieldName, error: error))
                }
                return .token(
                    Token(
                        recordName: item.recordName ?? settings.newUUID(),
                        fieldName: item.fieldName,
                        url: context.origin + UploadAddress.path + upload))
            })
    }

    private static func checkWriting(in zone: AssetZone, _ context: RequestContext) async throws {
        guard context.scope == .shared else { return }
        let mayWrite = try await context.service.store(for: zone.database).read { reader in
            try context.livingZone(named: zone.name, reader)?.rights.canWriteSomewhere ?? false
        }
        guard mayWrite else { throw ServiceError.notPermitted }
    }

    private static func objection(to item: Item) -> ServiceError? {
        guard item.recordName.map(Names.isRecordName) ?? true else {
            return .invalid(
                "A record's name has 1 to 255 ASCII characters and no leading underscore.")
        }
        guard Names.isIdentifier(item.fieldName) else {
            return .invalid("A field's name is a letter, then letters, digits and underscores.")
        }
        return nil
    }
}

extension CloudService {
    /// Bytes that are handed to the disk at a time.
    private static let bytesPerWrite = 512 * 1024

    /// Takes the bytes of an asset: step 2 of an upload, for the transport that has them.
    ///
    /// Holds no more of them than one write's. The blob is durable and has its row when this returns.
    ///
    /// - Parameters:
    ///   - token: The last segment of the address that `assets/upload` answered.
    ///   - announcedBytes: How many there will be, where that is known.
    ///   - body: The asset's bytes in pieces of any size. It is not read when the address is bad.
    /// - Throws: ``RequestFailure``: NOT_FOUND for a bad address, BAD_REQUEST with framework code 27
    ///   for too many bytes, and what `body` throws as such a failure.
    public func upload<Body: AsyncSequence>(
        to token: String, announcedBytes: Int64? = nil, _ body: Body
    ) async throws(RequestFailure) -> AssetsUpload.Uploaded where Body.Element == [UInt8] {
        do {
            let seal = try await seal()
            guard let address = UploadAddress(text: token, seal: seal),
                settings.nowMilliseconds() < address.endMilliseconds
            else { throw ServiceError.unknownUploadAddress }
            try checkTransfers(of: address.database.containerAddress)
            guard announcedBytes ?? 0 <= settings.limits.assetBytes else {
                throw ServiceError.assetTooLarge
            }
            let room = try await freeAssetBytes(in: address.database)
            guard announcedBytes ?? 0 <= room.bytes else { throw room.error }
            let row = try await uploads.run(for: address.user) {
                try await keep(body, in: address.database, room)
            }
            var asset = AssetReceipt(row, in: address.database, seal: seal)
            asset.receipt = UploadReceipt(
                databaseMark: ChangeToken.mark(of: address.database), zoneName: address.zoneName,
                user: address.user, sha256: row.blob.sha256,
                endMilliseconds: settings.nowMilliseconds()
                    + Int64(settings.limits.assetReceiptSeconds * 1_000)
            ).text(sealedBy: seal)
            return AssetsUpload.Uploaded(singleFile: asset)
        } catch {
            throw failure(from: error)
        }
    }

    /// The room that a database's quota leaves, and the refusal of what is larger.
    private func freeAssetBytes(
        in database: DatabaseAddress
    ) async throws -> (bytes: Int64, error: ServiceError) {
        let limits = settings.limits
        return try await store(for: database).read { reader in
            let quota = Quota(
                database.tenant, limits: limits, recordBytes: try reader.recordBytes,
                assetBytes: try reader.assetBytes)
            return (quota.freeAssetBytes, quota.error)
        }
    }

    /// Keeps a blob, then notes it: a row never names a blob that is not there.
    private func keep<Body: AsyncSequence>(
        _ body: Body, in database: DatabaseAddress, _ room: (bytes: Int64, error: ServiceError)
    ) async throws -> AssetRow where Body.Element == [UInt8] {
        let blobs = try await storehouse.blobs(for: database)
        let writer = try await blobs.begin()
        let new: AssetRow
        do {
            new = try await write(body, to: writer, of: database, room)
        } catch {
            await writer.discard()
            throw error
        }
        let stored = try await store(for: database).write { try $0.admit(new) }
        if stored.blob != new.blob {
            do {
                try await blobs.delete(new.blob)
            } catch {
                // It has no row, so the next collection finds it.
            }
        }
        return stored
    }

    private func write<Body: AsyncSequence>(
        _ body: Body, to writer: any BlobWriter, of database: DatabaseAddress,
        _ room: (bytes: Int64, error: ServiceError)
    ) async throws -> AssetRow where Body.Element == [UInt8] {
        var digest = SHA256()
        var sizeBytes: Int64 = 0
        var pending: [UInt8] = []
        pending.reserveCapacity(Self.bytesPerWrite)
        for try await bytes in body {
            sizeBytes += Int64(bytes.count)
            guard sizeBytes <= settings.limits.assetBytes else { throw ServiceError.assetTooLarge }
            guard sizeBytes <= room.bytes else { throw room.error }
            countTransfer(bytes.count, of: database.containerAddress)
            digest.update(data: bytes)
            pending += bytes
            if pending.count >= Self.bytesPerWrite {
                try await writer.write(pending)
                pending.removeAll(keepingCapacity: true)
            }
        }
        if !pending.isEmpty { try await writer.write(pending) }
        let now = settings.nowMilliseconds()
        let blob = BlobName(
            sha256: Array(digest.finalize()),
            generation: settings.randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        try await writer.keep(as: blob, atMilliseconds: now)
        return AssetRow(blob: blob, sizeBytes: sizeBytes, touchedMilliseconds: now)
    }

    /// Opens an asset for whoever has its address.
    ///
    /// - Parameter token: The segment of a `downloadURL` after `/assets/get/`.
    /// - Throws: ``RequestFailure`` with NOT_FOUND when the address is bad or the asset is gone.
    public func download(_ token: String) async throws(RequestFailure) -> AssetDownload {
        do {
            let seal = try await seal()
            guard let address = DownloadAddress(text: token, seal: seal),
                settings.nowMilliseconds() < address.endMilliseconds,
                let reader = try await storehouse.blobs(for: address.database).open(address.blob)
            else { throw ServiceError.unknownDownloadAddress }
            let container = address.database.containerAddress
            try checkTransfers(of: container)
            let code = seal.code(
                of: ChangeToken.mark(of: address.database) + address.blob.sha256, for: .fileChecksum
            )
            return AssetDownload(
                contentTag: Base64.addressText(Array(code.prefix(20))), reader: reader,
                onRead: { self.countTransfer($0, of: container) })
        } catch {
            throw failure(from: error)
        }
    }
}

/// An asset that is being fetched.
public struct AssetDownload: Sendable {
    /// The same for the same content of a database, whatever the address: an entity tag.
    public let contentTag: String
    private let reader: any BlobReader
    private let onRead: @Sendable (_ bytes: Int) -> Void

    init(
        contentTag: String, reader: any BlobReader,
        onRead: @escaping @Sendable (_ bytes: Int) -> Void
    ) {
        self.contentTag = contentTag
        self.reader = reader
        self.onRead = onRead
    }

    public var sizeBytes: Int64 { reader.sizeBytes }

    /// The bytes from an offset on: as many as asked for, fewer at the end only.
    public func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let bytes = try await reader.read(at: offset, count: count)
        onRead(bytes.count)
        return bytes
    }
}
