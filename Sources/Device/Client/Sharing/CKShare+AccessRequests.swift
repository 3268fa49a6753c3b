import StratusWire

/// Requests for access: what people ask who have the link of a share and are not invited.
///
/// ```swift
/// share.allowsAccessRequests = true
/// _ = try await database.save(share)
/// // Later, with the share as it is then, to approve all:
/// let operation = CKFetchShareParticipantsOperation(
///     userIdentityLookupInfos: share.requesters.map(\.participantLookupInfo))
/// operation.perShareParticipantResultBlock = { _, result in
///     if case .success(let participant) = result { share.addParticipant(participant) }
/// }
/// // And when it has finished:
/// _ = try await database.save(share)
/// ```
///
/// What is decided is saved with the share. Only its owner and its administrators decide: what others
/// set ends the process, as it raises an exception on Apple's platforms. Source: Apple's page of
/// `CKShare`.
extension CKShare {
    public typealias AccessRequester = CKShareAccessRequester
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// Whether people who are not invited may ask for access; false unless set.
    ///
    /// Requests that wait already stay when it is set to false.
    public var allowsAccessRequests: Bool {
        get { accessRequests.areAllowed }
        set { decide { $0.areAllowed = newValue } }
    }

    /// Who asks for access and has no answer yet; the owner and administrators see them.
    ///
    /// To approve, add the participant of ``CKShareAccessRequester/participantLookupInfo``.
    public var requesters: [AccessRequester] {
        accessRequests.requesters.map { CKShareAccessRequester($0) }
    }

    /// Who may not ask until ``unblockIdentities(_:)``; the owner and administrators see them.
    public var blockedIdentities: [BlockedIdentity] {
        accessRequests.blocked.map { CKShareBlockedIdentity($0) }
    }

    /// Takes people out of ``requesters``; they may ask again.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        decide { $0.deny(requesters.map(\.dictionary)) }
    }

    /// Keeps people from asking again, and takes them out of the participants when the share is saved.
    ///
    /// They are not told: their requests seem to be taken. A blocked person does not join by a public
    /// link either, but does who is invited afterwards.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        decide { $0.block(requesters.map(\.dictionary)) }
    }

    /// Lets people ask again.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        decide { $0.unblock(blockedIdentities.map(\.dictionary)) }
    }

    private var accessRequests: ShareState.AccessRequests {
        state.withLock { $0.sharing?.accessRequests } ?? .init()
    }

    private func decide(_ change: (inout ShareState.AccessRequests) -> Void) {
        // Whoever has no known part in the share is refused by the service.
        let role = currentUserParticipant?.role
        precondition(
            role != .privateUser && role != .publicUser,
            "The user is no owner or administrator of the share; leave requests for"
                + " access to those.")
        state.withLock { state in
            if var sharing = state.sharing {
                change(&sharing.accessRequests)
                state.sharing = sharing
            }
        }
    }
}
