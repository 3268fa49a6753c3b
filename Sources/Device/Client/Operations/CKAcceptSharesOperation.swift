import Foundation

/// Joins shares; their zones then appear in the user's shared database.
///
/// Each share is joined in the container that its metadata names. Joining a share again has no
/// effect.
public final class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The metadata of the shares to join, as fetched by their links; nil joins none.
    public var shareMetadatas: [CKShare.Metadata]?

    /// Called once for each share.
    public var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldShareBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?

    /// Makes an operation that joins the shares of the given metadata.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init(operationID: UUID().uuidString)
        self.shareMetadatas = shareMetadatas
    }

    override func perform() async throws {
        let results = try await containerSession.accept(shareMetadatas ?? [])
        deliver(results, errorKey: { $0.share.url.map { AnyHashable($0) } ?? AnyHashable($0) }) {
            callBlock(self.perShareResultBlock, or: self.oldShareBlock, $0, $1)
        }
    }

    override func end(_ error: CKError?) {
        acceptSharesResultBlock?(Result(error))
        (perShareResultBlock, acceptSharesResultBlock, oldShareBlock) = (nil, nil, nil)
        super.end(error)
    }
}
