import Algorithms
import Foundation
import StratusRecords
import StratusWire

// Uploads and downloads of assets.

/// An asset that must be uploaded before its record is saved.
private struct AssetToSend: Sendable {
    var record: Int
    var fieldName: String
    var asset: CKAsset
    var url: URL
    var file: AssetFileState
    /// The asset's place in the record's progress.
    var part: Int
}

extension DatabaseSession {
    /// Concurrent transfers; the service allows 16 per user.
    private static let transfersAtATime = 6
    /// Upload addresses per request: few, because addresses expire.
    private static let addressesPerRequest = 6

    // MARK: Uploading

    /// Uploads the files of a batch's records, and puts the resulting values into its drafts.
    func upload(
        _ batch: inout ModifyBatch, progress: @escaping @Sendable (CKRecord, Double) -> Void
    ) async throws {
        let records = batch.records
        let meter = AssetProgress(recordCount: records.count) { progress(records[$0], $1) }
        var waiting = assetsToSend(&batch, meter)
        // If one record of a zone cannot be sent, none of that zone is.
        waiting.removeAll { batch.isSpoilt(records[$0.record].recordID) }
        // In one order, which is that of the requests.
        let zones = Dictionary(grouping: waiting) { records[$0.record].recordID.zoneID }
            .sorted {
                ($0.key.zoneName, $0.key.ownerName) < ($1.key.zoneName, $1.key.ownerName)
            }
        for (zoneID, assets) in zones {
            for chunk in assets.chunks(ofCount: Self.addressesPerRequest) {
                let group = Array(chunk).filter { !batch.isSpoilt(records[$0.record].recordID) }
                guard !group.isEmpty else { continue }
                let results = try await upload(group, of: records, in: zoneID, meter)
                for (asset, result) in zip(group, results) {
                    switch result {
                    case .failure(let error): batch.fail(asset.record, with: error)
                    case .success(let receipt):
                        guard case .success(var draft) = batch.drafts[asset.record] else {
                            continue
                        }
                        draft.receipts[ObjectIdentifier(asset.asset)] = receipt
                        batch.drafts[asset.record] = .success(draft)
                    }
                }
            }
        }
    }

    /// The assets of a batch that must be uploaded; records whose files are missing fail here.
    private func assetsToSend(
        _ batch: inout ModifyBatch, _ meter: AssetProgress
    ) -> [AssetToSend] {
        var waiting: [AssetToSend] = []
        for index in batch.records.indices {
            guard case .success(let draft) = batch.drafts[index], !draft.assetFields.isEmpty
            else { continue }
            let holder = batch.records[index].assetHolder
            var seen: Set<ObjectIdentifier> = []
            do {
                for field in draft.assetFields {
                    for asset in field.assets
                    where asset.needsUpload(in: holder)
                        && seen.insert(ObjectIdentifier(asset)).inserted
                    {
                        guard let url = asset.fileURL else {
                            throw CKError(
                                .assetNotAvailable,
                                "The asset's file is not on this device; fetch it"
                                    + " before it is saved in another record.",
                                details: [CKError.fieldNameKey: field.name])
                        }
                        let file = try AssetFileState(url)
                        waiting.append(
                            AssetToSend(
                                record: index, fieldName: field.name, asset: asset, url: url,
                                file: file, part: meter.add(file.sizeBytes, to: index)))
                    }
                }
            } catch {
                // Becomes the record's own result.
                batch.fail(index, with: CKError(requestFailedWith: error))
            }
        }
        return waiting
    }

    /// Uploads some assets of one zone.
    ///
    /// - Returns: one result for each; transient errors are thrown.
    private func upload(
        _ group: [AssetToSend], of records: [CKRecord], in zoneID: CKRecordZone.ID,
        _ meter: AssetProgress
    ) async throws -> [Result<AssetReceipt, CKError>] {
        let request = AssetsUpload.Request(
            tokens: group.map {
                AssetsUpload.Item(
                    recordName: records[$0.record].recordID.recordName,
                    recordType: records[$0.record].recordType, fieldName: $0.fieldName)
            }, zoneID: zoneID.dictionary)
        let tokens: [AssetsUpload.TokenResult]
        do {
            tokens = try await sender.send(AssetsUpload.self, request).items
        } catch let error as CKError where !error.isTransient && error.code != .operationCancelled {
            // An error of the whole zone, such as that it does not exist, is the result of each of
            // its records.
            return group.map { _ in .failure(error) }
        }
        try check(tokens.count, for: group.count)
        let results = IndexedResults<Result<AssetReceipt, CKError>>()
        try await forEachConcurrently(
            Array(zip(group, tokens).enumerated().map { ($0.offset, $0.element.0, $0.element.1) }),
            limit: Self.transfersAtATime
        ) { index, asset, token in
            switch token {
            case .failure(let failure):
                results.set(.failure(CKError(failure.error, about: .record)), at: index)
            case .success(let token)
            where token.recordName != records[asset.record].recordID.recordName
                || token.fieldName != asset.fieldName:
                let asked = "\(records[asset.record].recordID.recordName) \(asset.fieldName)"
                let error = AnswerMatching.error(
                    asked: asked, answered: "\(token.recordName) \(token.fieldName)")
                results.set(.failure(error), at: index)
            case .success(let token):
                results.set(try await upload(asset, to: token.url, meter), at: index)
            }
        }
        return try results.all(count: group.count)
    }

    private func upload(
        _ asset: AssetToSend, to url: String, _ meter: AssetProgress
    ) async throws -> Result<AssetReceipt, CKError> {
        do {
            let copy = try await sender.connection.assetFolder.copied(
                asset.url, expected: asset.file)
            defer { copy.remove() }
            let upload = AssetUpload(copy.url, sizeBytes: asset.file.sizeBytes) {
                meter.moved($0, of: asset.part, in: asset.record)
            }
            return .success(
                try await sender.transfer {
                    try await sender.connection.transport.upload(
                        upload, to: url, timeoutSeconds: sender.pace.requestSeconds)
                })
        } catch {
            let error = CKError(requestFailedWith: error)
            if error.isTransient || error.code == .operationCancelled { throw error }
            return .failure(error)
        }
    }

    // MARK: Downloading

    /// Downloads the assets that fetched records wait for.
    ///
    /// - Parameter progress: called with the fraction of a record's assets that was received, below
    ///   1.
    /// - Returns: the errors of records with an unavailable asset; transient errors are thrown.
    func downloadAssets(
        of records: [CKRecord],
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> [CKRecord.ID: CKError] {
        guard downloadsAssets else { return [:] }
        let meter = AssetProgress(recordCount: records.count) { progress(records[$0], $1) }
        var waiting: [(record: Int, asset: CKAsset, part: Int)] = []
        for (index, record) in records.enumerated() {
            for asset in record.waitingAssets {
                let part = meter.add(asset.stored?.sizeBytes ?? 0, to: index)
                waiting.append((index, asset, part))
            }
        }
        let failures = IndexedResults<CKError>()
        try await forEachConcurrently(waiting, limit: Self.transfersAtATime) { item in
            do {
                try await download(item.asset, of: records[item.record]) {
                    meter.moved($0, of: item.part, in: item.record)
                }
            } catch {
                let error = CKError(requestFailedWith: error)
                if error.isTransient || error.code == .operationCancelled { throw error }
                failures.set(error, at: item.record)
            }
        }
        return failures.byIndex.reduce(into: [:]) { $0[records[$1.key].recordID] = $1.value }
    }

    /// Downloads an asset; if its address has expired, which happens after an hour, it fetches the
    /// record's current one.
    private func download(
        _ asset: CKAsset, of record: CKRecord, progress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        guard let stored = asset.stored, let url = stored.downloadURL else { return }
        let file = try sender.connection.assetFolder.makeFile()
        do {
            do {
                try await download(stored, from: url, to: file, progress: progress)
            } catch let error as CKError where error.meansMissingAsset {
                guard let next = try await renewedAddress(of: asset, stored, in: record),
                    next != url
                else { throw error }
                try await download(stored, from: next, to: file, progress: progress)
            }
        } catch {
            file.remove()
            let error = CKError(requestFailedWith: error)
            guard error.meansMissingAsset else { throw error }
            throw CKError(
                .assetNotAvailable,
                "An asset of the record \(record.recordID.recordName) is no longer there; fetch the"
                    + " record again.",
                cause: error)
        }
        asset.adopt(file)
    }

    private func download(
        _ stored: AssetReceipt, from url: String, to file: AssetFile,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        try await sender.transfer {
            let writer = try AssetFileWriter(file.url)
            try await sender.connection.transport.download(
                from: url, timeoutSeconds: sender.pace.requestSeconds
            ) { piece in
                let written = try writer.write(piece)
                guard written <= stored.sizeBytes ?? written else {
                    throw TransportError(
                        .answerUnreadable,
                        "The asset has more than the \(stored.sizeBytes ?? written) bytes that the"
                            + " service announced; fetch it again.")
                }
                progress(written)
            }
            let received = try writer.finish()
            guard received == stored.sizeBytes ?? received else {
                throw TransportError(
                    .answerLost,
                    "The asset ended after \(received) of \(stored.sizeBytes ?? received) bytes; fetch"
                        + " it again.")
            }
        }
    }

    /// Fetches the record again for the asset's current address.
    ///
    /// - Returns: nil when the record no longer has the asset.
    /// - Throws: also the service's error when it refuses to return the record, such as one of a busy zone.
    private func renewedAddress(
        of asset: CKAsset, _ stored: AssetReceipt, in record: CKRecord
    ) async throws -> String? {
        guard let checksum = stored.fileChecksum, let fieldName = record.fieldName(of: asset)
        else { return nil }
        let item = RecordsLookup.Item(
            recordName: record.recordID.recordName, zoneID: record.recordID.zoneID.dictionary)
        let answer = try await sender.send(
            RecordsLookup.self, RecordsLookup.Request(records: [item], desiredKeys: [fieldName]))
        guard let result = answer.records.first else { return nil }
        try matching.check(result, record.recordID)
        return try assetAddress(
            of: checksum, fieldName: fieldName, in: result, for: record.recordID)
    }

    /// The current address of an asset in a record that was looked up.
    ///
    /// - Returns: nil when the record no longer has the asset, or no longer exists.
    /// - Throws: also the error with which the service refused to return the record.
    func assetAddress(
        of checksum: String, fieldName: CKRecord.FieldKey, in result: RecordResult,
        for recordID: CKRecord.ID
    ) throws -> String? {
        switch result {
        case .record(let dictionary):
            var reader = reader
            let state = try reader.state(dictionary, in: recordID.zoneID)
            return state.values[fieldName]?.assets?.lazy.compactMap(\.stored)
                .first { $0.fileChecksum == checksum }?.downloadURL
        case .deleted: return nil
        case .failure(let failure):
            let error = CKError(failure.error, about: .record, uuid: failure.uuid)
            switch error.code {
            case .unknownItem, .zoneNotFound, .userDeletedZone: return nil
            default: throw error
            }
        }
    }
}

extension CKError {
    /// Whether the address is invalid or has expired.
    fileprivate var meansMissingAsset: Bool { code == .unknownItem || code == .invalidArguments }
}

extension CKRecord {
    /// The assets whose bytes have not been fetched yet.
    var waitingAssets: [CKAsset] {
        state.withLock { $0.values.values.compactMap(\.assets) }.flatMap { $0 }
            .filter(\.isWaiting)
    }

    var hasWaitingAssets: Bool { !waitingAssets.isEmpty }

    fileprivate func fieldName(of asset: CKAsset) -> String? {
        state.withLock { state in
            state.values.first { $0.value.assets?.contains { $0 === asset } == true }?.key
        }
    }
}
