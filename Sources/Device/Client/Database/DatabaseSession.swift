import Foundation
import StratusRecords
import StratusWire

/// The requests that operations and convenience calls make of one database; one file for each kind.
///
/// Everything that is thrown, or found in a result, is a `CKError`.
struct DatabaseSession: Sendable {
    var sender: RequestSender
    let core: ContainerCore
    /// Whether records are fetched with the bytes of their assets.
    var downloadsAssets = true
    /// Whether a change feed hands out records of which an asset is not to be had, without its file.
    var keepsRecordsWithoutAssets = false

    var reader: RecordReader {
        RecordReader(
            scope: sender.scope, linkOrigin: sender.connection.transport.shareLinkOrigin,
            encryptedKeys: core.encryptedFields.keysToRead)
    }

    /// What an answer must be about.
    var matching: AnswerMatching {
        AnswerMatching(
            scope: sender.scope, user: sender.connection.userRecordName(container: core.identifier))
    }

    /// Fetches what records of an answer lack: the sense of encrypted values, and their assets.
    ///
    /// - Parameter progress: takes how much of a record's assets was received, below 1.
    /// - Returns: the errors of records of which an asset is not to be had.
    func complete(
        _ records: [CKRecord],
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> [CKRecord.ID: CKError] {
        try await decrypt(records)
        return try await downloadAssets(of: records, progress: progress)
    }

    /// Tells of an answer that has not one result for each item of the request.
    func check(_ resultCount: Int, for itemCount: Int) throws {
        guard resultCount == itemCount else {
            throw CKError(
                .internalError, "The service did not answer each item of the request.",
                details: ["ItemCount": itemCount, "ResultCount": resultCount])
        }
    }
}
