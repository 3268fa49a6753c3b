import Foundation

/// Asks the owners of shares for access, by the links of the shares.
///
/// The shares have to be in the operation's container. A link that leads nowhere and a share that
/// takes no requests both fail with `CKError.unknownItem`, which does not reveal whether the share
/// exists. For a user who may already join, the error is `CKError.participantAlreadyInvited`:
/// accept the share instead. A share with too many open requests fails with
/// `CKError.tooManyParticipants`. Requesting again has no effect; success means that the request
/// was delivered, not that the owner grants it.
///
/// ```swift
/// let operation = CKShareRequestAccessOperation(shareURLs: [link])
/// operation.perShareAccessRequestResultBlock = { url, result in print(url, result) }
/// container.add(operation)
/// ```
public final class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The links of the shares; nil requests nothing. A URL that is not a share's link fails alone,
    /// with `CKError.invalidArguments`.
    public var shareURLs: [URL]?

    /// Called once for each link.
    public var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

    /// Makes an operation that requests access to the shares behind these links.
    public convenience init(shareURLs: [URL]) {
        self.init(operationID: UUID().uuidString)
        self.shareURLs = shareURLs
    }

    override func perform() async throws {
        deliver(try await containerSession.requestAccess(to: shareURLs ?? [])) { url, result in
            self.perShareAccessRequestResultBlock?(url, result)
        }
    }

    override func end(_ error: CKError?) {
        shareAccessRequestResultBlock?(Result(error))
        (perShareAccessRequestResultBlock, shareAccessRequestResultBlock) = (nil, nil)
        super.end(error)
    }
}
