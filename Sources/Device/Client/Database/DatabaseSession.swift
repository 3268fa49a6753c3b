import Foundation
import StratusRecords
import StratusWire

/// The requests of operations and convenience calls to one database; one file for each kind.
///
/// All errors, thrown or in results, are `CKError`.
struct DatabaseSession: Sendable {
    var sender: RequestSender
    let core: ContainerCore
    /// Whether records are fetched with the bytes of their assets.
    var downloadsAssets = true
    /// Whether a change feed returns records with an unavailable asset, without its file.
    var keepsRecordsWithoutAssets = false

    var reader: RecordReader {
        RecordReader(
            scope: sender.scope, linkOrigin: sender.connection.transport.shareLinkOrigin,
            encryptedKeys: core.encryptedFields.keysToRead)
    }

    /// Checks that answers are about the requested items.
    var matching: AnswerMatching {
        AnswerMatching(
            scope: sender.scope, user: sender.connection.userRecordName(container: core.identifier))
    }

    /// Completes the records of an answer: decrypts their encrypted values and downloads their
    /// assets.
    ///
    /// - Parameter progress: called with the fraction of a record's assets that was received, below
    ///   1.
    /// - Returns: the errors of records with an unavailable asset.
    func complete(
        _ records: [CKRecord],
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> [CKRecord.ID: CKError] {
        try await decrypt(records)
        return try await downloadAssets(of: records, progress: progress)
    }

    /// Throws when an answer does not have one result for each item of the request.
    func check(_ resultCount: Int, for itemCount: Int) throws {
        guard resultCount == itemCount else {
            throw CKError(
                .internalError,
                "The service answered \(resultCount) of \(itemCount) items of the request; try again, or"
                    + " update the service.",
                details: ["ItemCount": itemCount, "ResultCount": resultCount])
        }
    }
}
