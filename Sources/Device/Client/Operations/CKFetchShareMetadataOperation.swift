import Foundation

/// Fetches the metadata of the shares behind links.
///
/// The shares have to be in the operation's container. A link that leads nowhere or is for other
/// people fails with `CKError.unknownItem`; one that was sent to an address which may be the
/// user's, with `CKError.participantMayNeedVerification`.
public final class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The links of the shares, such as `https://cloud.example.org/share/…`; nil fetches nothing.
    public var shareURLs: [URL]?
    /// Whether to fetch the root record too; the share of a whole zone has none.
    public var shouldFetchRootRecord = false
    /// The keys of the root record to fetch; nil fetches all.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    /// Called once for each link.
    public var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?

    /// Makes an operation that fetches the metadata of the shares behind the given links.
    public convenience init(shareURLs: [URL]) {
        self.init(operationID: UUID().uuidString)
        self.shareURLs = shareURLs
    }

    override func perform() async throws {
        let results = try await containerSession.shareMetadata(
            for: shareURLs ?? [],
            rootRecord: shouldFetchRootRecord ? (rootRecordDesiredKeys, ()) : nil)
        deliver(results) {
            callBlock(self.perShareMetadataResultBlock, or: self.oldMetadataBlock, $0, $1)
        }
    }

    override func end(_ error: CKError?) {
        fetchShareMetadataResultBlock?(Result(error))
        (perShareMetadataResultBlock, fetchShareMetadataResultBlock, oldMetadataBlock) = (
            nil, nil, nil
        )
        super.end(error)
    }
}
