import Foundation

/// Fetches the metadata of the shares behind links.
///
/// The shares have to be in the operation's container. A link that leads nowhere or is for other
/// people fails with `CKError.unknownItem`; one that was sent to an address which may be the
/// user's, with `CKError.participantMayNeedVerification`.
public final class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var shareURLs: [URL]?
    /// Whether to fetch the root record too; the share of a whole zone has none.
    public var shouldFetchRootRecord = false
    /// The keys of the root record to fetch; nil fetches all.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    /// Called once for each link.
    public var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
    private var oldCompletionBlock: (((any Error)?) -> Void)?
    private var results: [(item: URL, result: Result<CKShare.Metadata, any Error>)] = []

    public convenience init(shareURLs: [URL]) {
        self.init(operationID: UUID().uuidString)
        self.shareURLs = shareURLs
    }

    /// Ignored when ``perShareMetadataResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareMetadataResultBlock.")
    public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { oldMetadataBlock }
        set { oldMetadataBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by link, when single ones failed.
    @available(*, deprecated, message: "Use fetchShareMetadataResultBlock.")
    public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let results = try await containerSession.shareMetadata(
            for: shareURLs ?? [],
            rootRecord: shouldFetchRootRecord ? (rootRecordDesiredKeys, ()) : nil)
        deliver {
            self.results = results
            self.forEach(results) { url, result in
                if let block = self.perShareMetadataResultBlock {
                    block(url, result)
                } else {
                    self.oldMetadataBlock?(url, result.success, result.failure)
                }
            }
        }
    }

    override func report(_ error: CKError?) {
        fetchShareMetadataResultBlock?(Result(error))
        var errors: [AnyHashable: any Error] = [:]
        for (url, result) in results { errors[url] = result.failure }
        oldCompletionBlock?(error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perShareMetadataResultBlock = nil
        fetchShareMetadataResultBlock = nil
        oldMetadataBlock = nil
        oldCompletionBlock = nil
        results = []
    }
}
