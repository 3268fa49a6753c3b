import Crypto
import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Receives and sends the bytes of assets, at the addresses of ``AssetsUpload`` and of records.
///
/// There is no ``RequestContext`` here: these requests go to no endpoint, so no fault changes their limits, and their
/// bytes may arrive for hours, so they have no single moment. Limits and time are the service's.
struct AssetByteTransfer: Sendable {
    let limits: Limits
    let world: World
    let logger: Logger
    let databases: Databases
    let signerSource: TokenSignerSource
    let costs: SenderCosts
    let uploads: UserUploads

    /// Bytes that are written to the disk at a time.
    private static let bytesPerWrite = 512 * 1024

    /// Receives the bytes of an asset: step 2 of an upload.
    ///
    /// Holds the bytes of one write at a time. When this returns, the blob is durable and has its row.
    func upload<Body: AsyncSequence>(
        to token: String, announcedBytes: Int64?, fileName: () -> String?, _ body: Body
    ) async throws -> AssetsUpload.Uploaded where Body.Element == [UInt8] {
        let (address, signer) = try await uploadAddress(token)
        let sender = Throttle.Sender.user(address.user, in: address.database.containerAddress)
        try costs.meter.checkTransfers(of: address.database.containerAddress, by: [sender])
        let room = try await freeAssetBytes(at: address)
        try checkSize(announcedBytes ?? 0, after: 0, room)
        let row = try await uploads.underWay.run(for: address.user) {
            // Hashing many bytes is heavy work, however small the pieces in which they come.
            try await HeavyThreads.Line.run(on: costs.heavy?.threads.line(of: sender)) {
                try await keep(body, at: address, room, by: sender)
            }
        }
        return receipt(for: row, at: address, fileName: fileName(), signer)
    }

    func uploadAddress(_ token: String) async throws -> (UploadAddress, TokenSigner) {
        let signer = try await signerSource.signer()
        guard let address = UploadAddress(text: token, signer: signer),
            world.nowMilliseconds() < address.endMilliseconds
        else { throw RequestFailure(.unknownUploadAddress, unreadBody: .refused) }
        return (address, signer)
    }

    /// Refuses a number of bytes after those that are kept, if together they are more than an asset may have or than
    /// there is room for.
    func checkSize(_ bytes: Int64, after kept: Int64, _ room: UploadRoom) throws {
        // The client may announce any number.
        guard bytes <= limits.assetBytes - kept else {
            throw RequestFailure(
                .assetTooLarge(limitBytes: limits.assetBytes), unreadBody: .tooLarge)
        }
        guard bytes <= room.bytes - kept else { throw room.refusal(ofBytes: kept + bytes) }
    }

    func charge(_ sender: Throttle.Sender, bytes: Int64) {
        costs.charge(sender, limits.cost(ofBytes: Int(bytes)))
    }

    func receipt(
        for row: AssetRow, at address: UploadAddress, fileName: String?, _ signer: TokenSigner
    ) -> AssetsUpload.Uploaded {
        // In stored JSON, the name is found by the quotation mark at its end.
        let fileName = fileName.flatMap { name in
            name.utf8.allSatisfy { (0x21..<0x7f).contains($0) && $0 != 0x22 && $0 != 0x5c }
                ? name : nil
        }
        var asset = AssetReceipt(row, in: address.database, signer: signer)
        asset.receipt = UploadReceipt(
            databaseMark: ChangeToken.mark(of: address.database), zoneName: address.zoneName,
            user: address.user, sha256: row.blob.sha256,
            endMilliseconds: world.nowMilliseconds()
                + Int64(limits.assetReceiptSeconds * 1_000),
            fileName: fileName
        ).text(signedBy: signer)
        return AssetsUpload.Uploaded(singleFile: asset)
    }

    /// The bytes that a database's quota leaves to the user of an address.
    func freeAssetBytes(at address: UploadAddress) async throws -> UploadRoom {
        let mark = try await uploaderMark(of: address)
        return try await databases.store(for: address.database).read { reader in
            var lookedUp: Set<[UInt8]> = []
            return try room(at: address, mark, reader, lookedUp: &lookedUp)
        }
    }

    private func uploaderMark(of address: UploadAddress) async throws -> UInt32 {
        UnclaimedUploads.mark(
            of: address.user, in: address.database, try await signerSource.signer())
    }

    /// The sender's uploads that no record has, if there are so many that they must be looked up. In the transaction of
    /// an upload other writes would wait for this.
    private func lookedUpUploads(
        before new: AssetRow, at address: UploadAddress, in store: any RecordStore
    ) async throws -> Set<[UInt8]> {
        guard address.database.owner != address.user else { return [] }
        let mark = try await uploaderMark(of: address)
        return try await store.read { reader in
            var lookedUp: Set<[UInt8]> = []
            if try reader.asset(new.blob.sha256) == nil {
                _ = try room(at: address, mark, reader, lookedUp: &lookedUp)
            }
            return lookedUp
        }
    }

    private func room(
        at address: UploadAddress, _ mark: UInt32, _ reader: any StoreReader,
        lookedUp: inout Set<[UInt8]>
    ) throws -> UploadRoom {
        let database = address.database
        let quota = Quota(
            database.tenant, limits: limits, recordBytes: try reader.recordBytes,
            assetBytes: try reader.assetBytes)
        let work = RequestWork()
        let bytes = try uploads.unclaimed.room(
            for: address.user, marked: mark, in: database, freeBytes: quota.freeAssetBytes,
            largestBytes: limits.assetBytes, reader, work, lookedUp: &lookedUp)
        if work.cost > 0 {
            costs.charge(.user(address.user, in: database.containerAddress), work.cost)
        }
        return UploadRoom(bytes: bytes, quotaBytes: quota.freeAssetBytes, quotaError: quota.error)
    }

    /// Stores a blob and then its row, so that a row never names a blob that does not exist.
    private func keep<Body: AsyncSequence>(
        _ body: Body, at address: UploadAddress, _ room: UploadRoom, by mover: Throttle.Sender
    ) async throws -> AssetRow where Body.Element == [UInt8] {
        let blobs = try await databases.blobs(for: address.database)
        let writer = try await blobs.begin()
        let new: AssetRow
        do {
            var digest = SHA256()
            let sizeBytes = try await write(
                body, to: writer, of: address.database, &digest, room, by: mover)
            new = try await keep(writer, digest, sizeBytes: sizeBytes, at: address)
        } catch {
            await writer.discard()
            throw error
        }
        return try await admit(new, at: address)
    }

    /// Stores the row of a blob, or returns the row of an earlier blob with the same content.
    ///
    /// The quota is checked again: other uploads may have taken the room since this one began. An earlier blob whose
    /// file was lost gets its content again.
    func admit(_ new: AssetRow, at address: UploadAddress) async throws -> AssetRow {
        let database = address.database
        let store = try await databases.store(for: database)
        let lookedUp = try await lookedUpUploads(before: new, at: address, in: store)
        let mark = try await uploaderMark(of: address)
        let admission: Result<AssetRow, ServiceError> = try await store.write { writer in
            if try writer.asset(new.blob.sha256) == nil {
                var known = lookedUp
                let room = try room(at: address, mark, writer, lookedUp: &known)
                guard new.sizeBytes <= room.bytes else {
                    return .failure(room.refusal(ofBytes: new.sizeBytes))
                }
            }
            let stored = try writer.admit(new)
            // Before the commit, so that the user's next upload, which may wait for it, finds this one counted.
            uploads.unclaimed.add(stored, by: address.user, to: database)
            return .success(stored)
        }
        if case .success(let stored) = admission, stored.blob == new.blob { return stored }
        let blobs = try await databases.blobs(for: database)
        if case .success(let stored) = admission {
            try await refill(stored, from: new.blob, in: blobs)
        }
        do {
            try await blobs.delete(new.blob)
        } catch {
            // The blob has no row: the next collection finds and removes it.
        }
        return try admission.get()
    }

    /// Copies a blob to the place of an earlier one of the same content, if the file of the earlier one is missing, too
    /// short or cannot be opened, as a damaged disk leaves it.
    private func refill(
        _ stored: AssetRow, from new: BlobName, in blobs: any BlobStore
    ) async throws {
        do {
            if try await blobs.open(stored.blob)?.sizeBytes == stored.sizeBytes { return }
        } catch let error as StorageError where error.code == .other {
            // It is replaced, too.
        }
        guard let reader = try await blobs.open(new) else { return }
        logger.warning(
            "An asset's file was damaged or missing; an upload of the same content replaces it.",
            metadata: ["asset": "\(StoredAssets.text(of: stored.blob))"])
        let writer = try await blobs.begin()
        do {
            var offset: Int64 = 0
            while offset < reader.sizeBytes {
                let bytes = try await reader.read(at: offset, count: Self.bytesPerWrite)
                guard !bytes.isEmpty else { throw ServiceError.unknownUploadAddress }
                try await writer.write(bytes)
                offset += Int64(bytes.count)
            }
            try await writer.keep(
                as: stored.blob, atMilliseconds: world.nowMilliseconds())
        } catch {
            await writer.discard()
            throw error
        }
    }

    /// Writes a body, and adds it to the digest. Its sender is charged for what arrived, however it ends.
    ///
    /// - Parameter keepsPart: Whether the part of a body that ends early is written too.
    /// - Returns: The asset's size in bytes so far.
    func write<Body: AsyncSequence>(
        _ body: Body, to writer: any BlobWriter, after kept: Int64 = 0,
        of database: DatabaseAddress, _ digest: inout SHA256,
        _ room: UploadRoom, by mover: Throttle.Sender, keepsPart: Bool = false
    ) async throws -> Int64 where Body.Element == [UInt8] {
        var sizeBytes = kept
        var pending: [UInt8] = []
        pending.reserveCapacity(Self.bytesPerWrite)
        defer { charge(mover, bytes: sizeBytes - kept) }
        do {
            for try await bytes in body {
                sizeBytes += Int64(bytes.count)
                try checkSize(sizeBytes - kept, after: kept, room)
                costs.meter.count(
                    transferredBytes: bytes.count, of: database.containerAddress, by: [mover])
                digest.update(data: bytes)
                pending += bytes
                if pending.count >= Self.bytesPerWrite {
                    try await writer.write(pending)
                    pending.removeAll(keepingCapacity: true)
                }
            }
        } catch {
            if keepsPart, !pending.isEmpty { try await writer.write(pending) }
            throw error
        }
        if !pending.isEmpty { try await writer.write(pending) }
        return sizeBytes
    }

    func keep(
        _ writer: any BlobWriter, _ digest: SHA256, sizeBytes: Int64, at address: UploadAddress
    ) async throws -> AssetRow {
        let now = world.nowMilliseconds()
        let blob = BlobName(
            sha256: Array(digest.finalize()),
            generation: UnclaimedUploads.generation(
                of: address.user, marked: try await uploaderMark(of: address),
                in: address.database, random: world.randomNumber()))
        try await writer.keep(as: blob, atMilliseconds: now)
        return AssetRow(
            blob: blob, sizeBytes: sizeBytes,
            touchedMilliseconds: AssetRow.uploadMilliseconds(at: now))
    }

    /// Opens an asset for a caller who has its address.
    func download(
        _ token: String, by movers: [Throttle.Sender]
    ) async throws -> AssetDownload {
        let signer = try await signerSource.signer()
        guard let address = DownloadAddress(text: token, signer: signer),
            world.nowMilliseconds() < address.endMilliseconds,
            let reader = try await databases.blobs(for: address.database).open(address.blob)
        else { throw ServiceError.unknownDownloadAddress }
        let container = address.database.containerAddress
        try costs.meter.checkTransfers(of: container, by: movers)
        let code = signer.code(
            of: ChangeToken.mark(of: address.database) + address.blob.sha256, for: .fileChecksum)
        return AssetDownload(
            contentTag: Base64.addressText(Array(code.prefix(20))), fileName: address.fileName,
            reader: reader,
            onRead: { costs.meter.count(transferredBytes: $0, of: container, by: movers) })
    }
}

/// How many bytes an upload may have.
struct UploadRoom: Sendable {
    private(set) var bytes: Int64
    /// What the database's quota leaves, also to others.
    private(set) var quotaBytes: Int64
    let quotaError: ServiceError

    /// Subtracts bytes that no row counts.
    mutating func take(_ count: Int64) {
        bytes -= count
        quotaBytes -= count
    }

    /// Why an asset of a size is refused. Saving records for the user's other uploads frees no bytes, so those uploads are
    /// the reason only if the quota has room for the asset.
    func refusal(ofBytes sizeBytes: Int64) -> ServiceError {
        sizeBytes > quotaBytes ? quotaError : .tooManyUnclaimedUploads
    }
}

/// Who is charged for the bytes of a download: its address says nothing about a user.
public enum DownloadPayer: Sendable {
    /// A caller in the service's process, who is not charged.
    case inProcess
    /// The network address that the request came from, or the part of it that identifies the network.
    case networkAddress(String)

    var movers: [Throttle.Sender] {
        switch self {
        case .inProcess: []
        case .networkAddress(let address): [.address(address)]
        }
    }
}

/// An asset that is being downloaded.
public struct AssetDownload: Sendable {
    /// An entity tag: the same for the same content of a database, regardless of the address.
    public let contentTag: String
    /// The name of the uploaded file, percent-encoded; nil when the client sent none.
    public let fileName: String?
    private let reader: any BlobReader
    private let onRead: @Sendable (_ bytes: Int) -> Void

    init(
        contentTag: String, fileName: String?, reader: any BlobReader,
        onRead: @escaping @Sendable (_ bytes: Int) -> Void
    ) {
        self.contentTag = contentTag
        self.fileName = fileName
        self.reader = reader
        self.onRead = onRead
    }

    /// The size of the whole asset.
    public var sizeBytes: Int64 { reader.sizeBytes }

    /// The bytes from an offset on: `count` of them, or fewer at the end of the asset.
    public func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let bytes = try await reader.read(at: offset, count: count)
        onRead(bytes.count)
        return bytes
    }
}
