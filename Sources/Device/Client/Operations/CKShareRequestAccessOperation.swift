import Foundation

/// Asks the owners of shares for access, by the links of the shares.
///
/// The shares have to be in the operation's container. A link that leads nowhere and one to a share that
/// takes no requests are both `CKError.unknownItem`: nobody learns whether there is such a share. Who may
/// join already is told `CKError.participantAlreadyInvited`, and accepts instead. A share that has as
/// many requests as it may have is `CKError.tooManyParticipants`. Asking twice is asking once; a request
/// that was taken says nothing of what the owner will answer.
///
/// ```swift
/// let operation = CKShareRequestAccessOperation(shareURLs: [link])
/// operation.perShareAccessRequestResultBlock = { url, result in print(url, result) }
/// container.add(operation)
/// ```
public final class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var shareURLs: [URL]?

    /// Called once for each link.
    public var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

    public convenience init(shareURLs: [URL]) {
        self.init(operationID: UUID().uuidString)
        self.shareURLs = shareURLs
    }

    override func perform() async throws {
        let results = try await containerSession.requestAccess(to: shareURLs ?? [])
        deliver {
            for (url, result) in results { self.perShareAccessRequestResultBlock?(url, result) }
        }
        await delivered()
        if isCancelled { throw CKError.cancelled }
    }

    override func report(_ error: CKError?) {
        shareAccessRequestResultBlock?(Result(error))
    }
}
