import Foundation
import StratusRecords
import StratusWire

/// The requests that operations and convenience calls make of one database; one file for each kind.
///
/// Everything that is thrown, or found in a result, is a `CKError`.
struct DatabaseSession: Sendable {
    let sender: RequestSender
    let core: ContainerCore

    var reader: RecordReader {
        RecordReader(
            scope: sender.scope, linkOrigin: sender.connection.transport.shareLinkOrigin)
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
