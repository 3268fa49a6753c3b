import Foundation

/// Joins shares; their zones then appear in the user's shared database.
///
/// Each share is joined in the container that its metadata names. Joining a share again has no
/// effect.
public final class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var shareMetadatas: [CKShare.Metadata]?

    /// Called once for each share.
    public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldShareBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    private var oldCompletionBlock: (((any Error)?) -> Void)?
    private var results: [(item: CKShare.Metadata, result: Result<CKShare, any Error>)] = []

    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init(operationID: UUID().uuidString)
        self.shareMetadatas = shareMetadatas
    }

    /// Ignored when ``perShareResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareResultBlock.")
    public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
        get { oldShareBlock }
        set { oldShareBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by the shares' links, when single ones
    /// failed.
    @available(*, deprecated, message: "Use acceptSharesResultBlock.")
    public var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let results = try await containerSession.accept(shareMetadatas ?? [])
        deliver {
            self.results = results
            self.forEach(results) { metadata, result in
                if let block = self.perShareResultBlock {
                    block(metadata, result)
                } else {
                    self.oldShareBlock?(metadata, result.success, result.failure)
                }
            }
        }
    }

    override func report(_ error: CKError?) {
        acceptSharesResultBlock?(Result(error))
        var errors: [AnyHashable: any Error] = [:]
        for (metadata, result) in results {
            let key = metadata.share.url.map { AnyHashable($0) } ?? AnyHashable(metadata)
            errors[key] = result.failure
        }
        oldCompletionBlock?(error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perShareResultBlock = nil
        acceptSharesResultBlock = nil
        oldShareBlock = nil
        oldCompletionBlock = nil
        results = []
    }
}
