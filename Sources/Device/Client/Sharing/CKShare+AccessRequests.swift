import StratusWire

/// Requests for access by people who have the link of a share but are not invited.
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
/// Decisions are saved with the share. Only its owner and administrators can decide: setting them
/// as another user ends the process; Apple's platforms raise an exception. Source: Apple's page of
/// `CKShare`.
extension CKShare {
    /// A person who requests access to a share; see ``CKShareAccessRequester``.
    public typealias AccessRequester = CKShareAccessRequester
    /// A person who may not request access to a share; see ``CKShareBlockedIdentity``.
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// Whether people who are not invited may request access; false by default.
    ///
    /// Setting it to false keeps the pending requests.
    public var allowsAccessRequests: Bool {
        get { accessRequests.areAllowed }
        set { decide { $0.areAllowed = newValue } }
    }

    /// The people with a pending request; visible to the owner and administrators.
    ///
    /// To approve, add the participant of ``CKShareAccessRequester/participantLookupInfo``.
    public var requesters: [AccessRequester] {
        accessRequests.requesters.map { CKShareAccessRequester($0) }
    }

    /// The people who may not request access until ``unblockIdentities(_:)``; visible to the owner
    /// and administrators.
    public var blockedIdentities: [BlockedIdentity] {
        accessRequests.blocked.map { CKShareBlockedIdentity($0) }
    }

    /// Removes people from ``requesters``; they may request access again.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        decide { $0.deny(requesters.map(\.dictionary)) }
    }

    /// Prevents people from requesting access again, and removes them from the participants when
    /// the share is saved.
    ///
    /// They are not notified: their requests appear to succeed. A blocked person cannot join by a
    /// public link either, but can if invited afterwards.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        decide { $0.block(requesters.map(\.dictionary)) }
    }

    /// Lets people request access again.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        decide { $0.unblock(blockedIdentities.map(\.dictionary)) }
    }

    private var accessRequests: ShareState.AccessRequests {
        state.withLock { $0.sharing?.accessRequests } ?? .init()
    }

    private func decide(_ change: (inout ShareState.AccessRequests) -> Void) {
        // A user without a known role in the share is refused by the service instead.
        let role = currentUserParticipant?.role
        precondition(
            role != .privateUser && role != .publicUser,
            "The user is not the owner or an administrator of the share; leave requests for"
                + " access to those.")
        state.withLock { state in
            if var sharing = state.sharing {
                change(&sharing.accessRequests)
                state.sharing = sharing
            }
        }
    }
}
