import Crypto
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// The state of a resumable upload.
public enum ResumedUpload: Sendable {
    /// The asset is complete; the value to save.
    case complete(AssetsUpload.Uploaded)
    /// This many bytes are kept, and more are expected.
    case kept(bytes: Int64)
    /// The request's bytes do not begin where the kept ones end, which is at `bytes`. None of them was read.
    case otherOffset(bytes: Int64)
}

/// Resumable uploads: the bytes that arrived are kept until the rest does, and belong to no asset before.
extension AssetByteTransfer {
    /// Bytes that are read back at a time.
    private static let bytesPerRead = 256 * 1_024

    /// Bytes of an upload that are kept.
    ///
    /// - Throws: ``RequestFailure`` NOT_FOUND for a bad address.
    func keptBytes(of token: String) async throws -> Int64 {
        let (address, _) = try await uploadAddress(token)
        let name = Self.partialName(of: token, address)
        let blobs = try await databases.blobs(for: address.database)
        return try await blobs.partialBytes(of: name)[name.name] ?? 0
    }

    /// Removes the kept bytes of an upload.
    func cancelUpload(_ token: String) async throws {
        let (address, _) = try await uploadAddress(token)
        let name = Self.partialName(of: token, address)
        try await uploads.underWay.run(name) {
            try await databases.blobs(for: address.database).partial(name).discard()
        }
    }

    /// Receives the bytes of an asset from an offset on. When they end early, the bytes that arrived are kept.
    ///
    /// - Parameters:
    ///   - isLast: Whether the asset ends with these bytes.
    ///   - announcedBytes: The announced number of bytes; nil if there is none.
    func resumeUpload<Body: AsyncSequence>(
        to token: String, at offset: Int64, isLast: Bool, announcedBytes: Int64?,
        fileName: () -> String?, _ body: Body
    ) async throws -> ResumedUpload where Body.Element == [UInt8] {
        let (address, signer) = try await uploadAddress(token)
        let database = address.database
        let sender = Throttle.Sender.user(address.user, in: database.containerAddress)
        try costs.meter.checkTransfers(of: database.containerAddress, by: [sender])
        let name = Self.partialName(of: token, address)
        let resumed: ResumeOutcome = try await uploads.underWay.run(for: address.user) {
            try await uploads.underWay.run(name) {
                let blobs = try await databases.blobs(for: database)
                var room = try await freeAssetBytes(at: address)
                var kept = try await blobs.partialBytes(of: name)
                if kept[name.name] == nil, kept.count >= limits.uploadsPerUser {
                    // Those that no address can continue any more take no places.
                    let seconds = limits.uploadAddressSeconds + limits.assetIdleSeconds
                    try await blobs.removePartials(
                        leftBefore: world.nowMilliseconds() - Int64(seconds * 1_000))
                    kept = try await blobs.partialBytes(of: name)
                }
                guard kept[name.name] != nil || kept.count < limits.uploadsPerUser else {
                    throw RequestFailure(
                        .tooManyUploads(limit: limits.uploadsPerUser), unreadBody: .refused)
                }
                // No row counts the kept bytes of other uploads yet.
                room.take(kept.reduce(0) { $0 + ($1.key == name.name ? 0 : $1.value) })
                let partial = try await blobs.partial(name)
                guard partial.sizeBytes == offset else {
                    try await partial.leave(atMilliseconds: world.nowMilliseconds())
                    return .otherOffset(partial.sizeBytes)
                }
                return try await HeavyThreads.Line.run(on: costs.heavy?.threads.line(of: sender)) {
                    try await append(
                        to: partial, isLast: isLast, body, announcedBytes: announcedBytes ?? 0,
                        at: address, room, by: sender)
                }
            }
        }
        switch resumed {
        case .otherOffset(let bytes): return .otherOffset(bytes: bytes)
        case .kept(let bytes): return .kept(bytes: bytes)
        case .complete(let row):
            return .complete(receipt(for: row, at: address, fileName: fileName(), signer))
        }
    }

    private enum ResumeOutcome {
        case complete(AssetRow)
        case kept(Int64)
        case otherOffset(Int64)
    }

    private func append<Body: AsyncSequence>(
        to partial: any PartialBlob, isLast: Bool, _ body: Body, announcedBytes: Int64,
        at address: UploadAddress, _ room: UploadRoom, by mover: Throttle.Sender
    ) async throws -> ResumeOutcome where Body.Element == [UInt8] {
        let database = address.database
        let kept = partial.sizeBytes
        var bytesRead: Int64 = 0
        do {
            try checkSize(announcedBytes, after: kept, room)
            var digest = SHA256()
            if isLast {
                bytesRead = kept
                try await read(partial, into: &digest)
            }
            let sizeBytes = try await write(
                body, to: partial, after: kept, of: database, &digest, room, by: mover,
                keepsPart: true)
            guard isLast else {
                try await partial.leave(atMilliseconds: world.nowMilliseconds())
                return .kept(sizeBytes)
            }
            let new = try await keep(partial, digest, sizeBytes: sizeBytes, at: address)
            return .complete(try await admit(new, at: address))
        } catch {
            // The bytes were read for nothing; each retry reads them again.
            charge(mover, bytes: bytesRead)
            costs.meter.count(
                transferredBytes: Int(bytesRead), of: database.containerAddress, by: [mover])
            if Self.endsUpload(error) {
                await partial.discard()
            } else {
                try await partial.leave(atMilliseconds: world.nowMilliseconds())
            }
            throw error
        }
    }

    private func read(_ partial: any PartialBlob, into digest: inout SHA256) async throws {
        var offset: Int64 = 0
        while offset < partial.sizeBytes {
            let count = min(Int(partial.sizeBytes - offset), Self.bytesPerRead)
            let bytes = try await partial.read(at: offset, count: count)
            guard !bytes.isEmpty else { throw ServiceError.unknownUploadAddress }
            digest.update(data: bytes)
            offset += Int64(bytes.count)
        }
    }

    /// Whether an upload can never succeed after this failure, even if it is continued.
    private static func endsUpload(_ error: any Error) -> Bool {
        if let failure = error as? RequestFailure { return failure.unreadBody == .tooLarge }
        return (error as? ServiceError)?.code == .quotaExceeded
    }

    private static func partialName(of token: String, _ address: UploadAddress) -> PartialBlobName {
        let owner = ChangeToken.mark(of: address.database) + Array(address.user.utf8)
        return PartialBlobName(
            owner: Array(SHA256.hash(data: owner).prefix(16)),
            name: Array(SHA256.hash(data: Array(token.utf8)).prefix(16)))
    }
}

extension ServiceError {
    package static let uploadIsUnderWay = ServiceError(
        .tryAgainLater, "Bytes of this upload are arriving already; ask again for its offset.",
        retryAfterSeconds: 1, frameworkCode: .serviceUnavailable)
}
