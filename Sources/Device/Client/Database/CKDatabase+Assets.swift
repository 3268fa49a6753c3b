import Foundation
import StratusRecords
import StratusWire

// Transfers of single files, for stores that keep assets themselves.

extension CKDatabase {
    /// Uploads a file for a field of a record that is saved later.
    ///
    /// - Parameter progress: called with the bytes sent so far, which may decrease when a request
    ///   is repeated.
    /// - Returns: the value to save, with its receipt.
    package func uploadAsset(
        _ file: URL, sizeBytes: Int64, to recordID: CKRecord.ID,
        recordType: CKRecord.RecordType, fieldName: CKRecord.FieldKey,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt {
        let session = session
        let request = AssetsUpload.Request(
            tokens: [
                AssetsUpload.Item(
                    recordName: recordID.recordName, recordType: recordType, fieldName: fieldName)
            ], zoneID: recordID.zoneID.dictionary)
        let tokens = try await session.sender.send(AssetsUpload.self, request).items
        guard tokens.count == 1 else {
            throw CKError(
                .internalError,
                "The service returned \(tokens.count) addresses for an upload when 1 was requested;"
                    + " try again, or update the service.")
        }
        switch tokens[0] {
        case .failure(let failure): throw CKError(failure.error, about: .record)
        case .success(let token):
            guard token.recordName == recordID.recordName, token.fieldName == fieldName else {
                throw AnswerMatching.error(
                    asked: "\(recordID.recordName) \(fieldName)",
                    answered: "\(token.recordName) \(token.fieldName)")
            }
            let upload = AssetUpload(file, sizeBytes: sizeBytes, progress: progress)
            let sender = session.sender
            let pace = sender.pace
            return try await sender.transfer {
                try await sender.connection.transport.upload(
                    upload, to: token.url, timeoutSeconds: pace.requestSeconds)
            }
        }
    }

    /// Fetches the bytes of an asset that a record holds, from an offset.
    ///
    /// - Parameters:
    ///   - checksum: the asset's checksum.
    ///   - offset: how many bytes the caller already has.
    ///   - receive: takes the pieces in their order.
    /// - Throws: `CKError`: `assetNotAvailable` when the record no longer holds it; the service's error when it refuses
    ///   to return the record, such as one of a busy zone.
    package func downloadAsset(
        _ checksum: String, of recordID: CKRecord.ID, fieldName: CKRecord.FieldKey,
        startingAt offset: Int64, receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let session = session
        let item = RecordsLookup.Item(
            recordName: recordID.recordName, zoneID: recordID.zoneID.dictionary)
        let answer = try await session.sender.send(
            RecordsLookup.self, RecordsLookup.Request(records: [item], desiredKeys: [fieldName]))
        guard let result = answer.records.first else {
            throw CKError(
                .internalError,
                "The service did not answer for the record \(recordID.recordName); try again, or update"
                    + " the service.")
        }
        try session.matching.check(result, recordID)
        let address = try session.assetAddress(
            of: checksum, fieldName: fieldName, in: result, for: recordID)
        guard let url = address else {
            throw CKError(
                .assetNotAvailable,
                "The asset \(fieldName) of the record \(recordID.recordName) is no longer there; fetch"
                    + " the record again.")
        }
        // Not repeated here: the caller resumes from the bytes it has received.
        try await session.sender.connection.transport.download(
            from: url, startingAt: offset, timeoutSeconds: session.sender.pace.requestSeconds,
            receive: receive)
    }
}
