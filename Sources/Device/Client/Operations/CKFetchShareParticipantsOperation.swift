import Foundation

/// Looks up people as participants to add to a share.
///
/// Anyone can be invited: the service does not reveal whether an address has an account. It returns
/// the names and user records of people who agreed to be found.
public final class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    /// Called once for each lookup.
    public var perShareParticipantResultBlock:
        ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldParticipantBlock: ((CKShare.Participant) -> Void)?
    private var oldCompletionBlock: (((any Error)?) -> Void)?
    private var results: [ContainerSession.FoundParticipant] = []

    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init(operationID: UUID().uuidString)
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// Ignored when ``perShareParticipantResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareParticipantResultBlock.")
    public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { oldParticipantBlock }
        set { oldParticipantBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by lookup, when single ones failed.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock.")
    public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let results = try await containerSession.participants(for: userIdentityLookupInfos ?? [])
        deliver {
            self.results = results
            self.forEach(results) { info, result in
                if let block = self.perShareParticipantResultBlock {
                    block(info, result)
                } else if let participant = result.success {
                    self.oldParticipantBlock?(participant)
                }
            }
        }
    }

    override func report(_ error: CKError?) {
        fetchShareParticipantsResultBlock?(Result(error))
        var errors: [AnyHashable: any Error] = [:]
        for (info, result) in results { errors[info] = result.failure }
        oldCompletionBlock?(error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perShareParticipantResultBlock = nil
        fetchShareParticipantsResultBlock = nil
        oldParticipantBlock = nil
        oldCompletionBlock = nil
        results = []
    }
}
