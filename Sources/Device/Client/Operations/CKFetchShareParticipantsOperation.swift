import Foundation

/// Looks up people as participants to add to a share.
///
/// Anyone can be invited: the service does not reveal whether an address has an account. It returns
/// the names and user records of people who agreed to be found.
public final class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The addresses, phone numbers and user records to look up; nil looks up no one.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    /// Called once for each lookup.
    public var perShareParticipantResultBlock:
        ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldParticipantBlock: ((CKShare.Participant) -> Void)?

    /// Makes an operation that looks people up as participants.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init(operationID: UUID().uuidString)
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func perform() async throws {
        let lookupInfos = userIdentityLookupInfos ?? []
        deliver(try await containerSession.participants(for: lookupInfos)) { info, result in
            if let block = self.perShareParticipantResultBlock {
                block(info, result)
            } else if let participant = result.success {
                self.oldParticipantBlock?(participant)
            }
        }
    }

    override func end(_ error: CKError?) {
        fetchShareParticipantsResultBlock?(Result(error))
        (perShareParticipantResultBlock, fetchShareParticipantsResultBlock) = (nil, nil)
        oldParticipantBlock = nil
        super.end(error)
    }
}
