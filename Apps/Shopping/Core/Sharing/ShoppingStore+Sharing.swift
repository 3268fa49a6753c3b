import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// Sharing a list with other people. Each step can be repeated: what is already done is not done twice.
///
/// ```swift
/// let sharing = try await store.share(weekly)
/// try await store.invite(["bob@example.org"], to: weekly)
/// if let link = sharing.link { print(link) }
/// ```
extension ShoppingStore {
    /// How a list is shared; nil for one that is not. Works offline.
    public func sharing(of listID: ListID) -> ListSharing? {
        listsByID[listID]?.share.map { ListSharing($0) }
    }

    /// Shares a list: its root and the share are saved in one request, and the entries follow as they always do.
    ///
    /// Two conditions are checked first: there is an account, and the list is not shared yet.
    ///
    /// - Throws: ``SharingRefused``, ``UnknownList``, or `CacheError` `notSynced` without the service.
    @discardableResult
    public func share(_ listID: ListID) async throws -> ListSharing {
        guard let known = listsByID[listID] else { throw UnknownList(listID: listID) }
        guard policy.isSharingOn else { throw SharingRefused(.turnedOff) }
        guard listID.isOwn else { throw SharingRefused(.notOwner, known.title) }
        guard known.share == nil else { throw SharingRefused(.sharedAlready, known.title) }
        switch try await container.accountStatus() {
        case .available: break
        case .noAccount, .restricted: throw SharingRefused(.noAccount)
        default: throw SharingRefused(.accountUnknown)
        }
        if try await cache.isDetached(listID.zoneID) { try await cache.attachZone(listID.zoneID) }
        let share = try await cache.share(listID.rootID)
        let permission = policy.linkAccess.permission
        return try await changeShare(share.recordID, of: listID) { share in
            share[CKShare.SystemFieldKey.title] = known.title
            // The device that shared it before may have chosen the permission.
            if share.participants.count < 2, share.publicPermission == .none {
                share.publicPermission = permission
            }
        }
    }

    /// Invites people by their e-mail addresses; only the owner can.
    @discardableResult
    public func invite(_ emailAddresses: [String], to listID: ListID) async throws -> ListSharing {
        let share = try ownedShare(of: listID)
        try await cache.invite(
            emailAddresses: emailAddresses, to: share.recordID,
            permission: policy.invitedMayWrite ? .readWrite : .readOnly)
        absorbUnseen()
        return sharing(of: listID) ?? ListSharing(share)
    }

    /// Sets what everyone who has the link may do, and whether others may ask to join; only the owner can.
    @discardableResult
    public func setLink(
        _ access: ListSharing.LinkAccess, takesRequests: Bool, of listID: ListID
    ) async throws -> ListSharing {
        try await changeShare(try ownedShare(of: listID).recordID, of: listID) { share in
            share.publicPermission = access.permission
            share.allowsAccessRequests = takesRequests
        }
    }

    /// Removes a participant or withdraws an invitation; only the owner can. Removing the last one ends the sharing.
    ///
    /// - Parameter personID: as ``ListPerson/id``.
    public func remove(_ personID: String, from listID: ListID) async throws {
        let share = try ownedShare(of: listID)
        let sharing = try await changeShare(share.recordID, of: listID) { share in
            for person in share.participants where person.participantID == personID {
                share.removeParticipant(person)
            }
        }
        if sharing.others.isEmpty, sharing.linkAccess == .invitedOnly {
            // No reason is saved for the participants: the last one was removed, and is notified of that.
            try await endSharing(share, of: listID)
        }
    }

    /// Accepts or denies all requests to join; only the owner can.
    ///
    /// - Parameter requesterIDs: as ``ListSharing/requesterIDs``: the people whom the owner has seen; nil for all.
    public func answerRequests(
        of listID: ListID, approving: Bool, only requesterIDs: [String]? = nil
    ) async throws {
        let share = try ownedShare(of: listID)
        @Sendable func isMeant(_ identity: CKUserIdentity) -> Bool {
            requesterIDs?.contains(identity.userRecordID?.recordName ?? "") ?? true
        }
        let askers = share.requesters.map(\.userIdentity).filter(isMeant)
            .compactMap(\.userRecordID)
        guard !askers.isEmpty else { return }
        var people: [CKShare.Participant] = []
        if approving {
            let found = try await container.shareParticipants(forUserRecordIDs: askers)
            people = try found.values.map { try $0.get() }
            for person in people {
                person.permission = policy.invitedMayWrite ? .readWrite : .readOnly
            }
        }
        let chosen = people
        try await changeShare(share.recordID, of: listID) { share in
            if approving {
                for person in chosen { share.addParticipant(person) }
            } else {
                share.denyRequesters(share.requesters.filter { isMeant($0.userIdentity) })
            }
        }
    }

    /// Asks the owner of a link for access, if they accept such requests.
    public func askToJoin(_ link: URL) async throws {
        for result in try await container.requestShareAccess(for: [link]).values {
            do {
                try result.get()
            } catch CKError.unknownItem {
                throw SharingRefused(.noRequests)
            }
        }
    }

    /// Joins a list by its link; the list is here when this returns.
    ///
    /// - Throws: ``SharingRefused``: `hereAlready` for a list of this device, `noList` for what another app shares.
    public func join(_ link: URL) async throws -> ListID {
        switch try await container.accountStatus() {
        case .available: break
        case .noAccount, .restricted: throw SharingRefused(.noAccount)
        default: throw SharingRefused(.accountUnknown)
        }
        let metadata: CKShare.Metadata
        do {
            metadata = try await container.shareMetadata(for: link)
        } catch CKError.unknownItem {
            throw SharingRefused(.notInvited)
        }
        guard let rootID = metadata.hierarchicalRootRecordID, let wanted = ListID(rootID.zoneID)
        else { throw SharingRefused(.noList) }
        // The user's own list has its owner's record name here.
        let isMine = metadata.participantRole == .owner
        if let known = listsByID[isMine ? ListID(wanted.name) : wanted] {
            throw SharingRefused(.hereAlready, known.title)
        }
        let zoneID = try await cache.acceptShare(at: link)
        absorbUnseen()
        guard let listID = ListID(zoneID) else { throw SharingRefused(.noList) }
        try readWholeList(listID)
        return listID
    }

    /// Leaves another person's list: it is removed here immediately, and the same link adds it again. Works offline.
    public func leave(_ listID: ListID) throws {
        guard let known = listsByID[listID] else { throw UnknownList(listID: listID) }
        guard !listID.isOwn else { throw SharingRefused(.notShared, known.title) }
        try activity.setNote(Self.unsentEnds, "")
        try cache.leaveShare(inZoneWith: listID.zoneID)
        forgetList(listID, .left)
    }

    /// Ends the sharing for everyone; the list stays as it was, but only on the owner's devices.
    public func stopSharing(_ listID: ListID) async throws {
        let share = try ownedShare(of: listID)
        try await noteEnd(.stopped, of: share)
        try await endSharing(share, of: listID)
    }

    private func endSharing(_ share: CKShare, of listID: ListID) async throws {
        try await cache.stopSharing(share.recordID)
        listsByID[listID]?.share = nil
        try activity.setNote("people \(listID)", nil)
    }

    /// Deletes a list: one's own everywhere and for everyone, another person's by leaving it.
    public func delete(_ listID: ListID) async throws {
        guard listID.isOwn else { return try leave(listID) }
        guard let known = listsByID[listID] else { throw UnknownList(listID: listID) }
        if let share = known.share { try await noteEnd(.deleted, of: share) }
        try activity.setNote(Self.unsentEnds, "")
        try await cache.deleteZone(listID.zoneID)
        forgetList(listID, .deletedHere)
    }

    // MARK: Parts

    private func ownedShare(of listID: ListID) throws -> CKShare {
        guard let known = listsByID[listID] else { throw UnknownList(listID: listID) }
        guard listID.isOwn else { throw SharingRefused(.notOwner, known.title) }
        guard let share = known.share else { throw SharingRefused(.notShared, known.title) }
        return share
    }

    @discardableResult
    private func changeShare(
        _ shareID: CKRecord.ID, of listID: ListID, _ change: @Sendable (CKShare) throws -> Void
    ) async throws -> ListSharing {
        let share = try await cache.changeShare(shareID, change)
        absorbUnseen()
        if listsByID[listID]?.share == nil { listsByID[listID]?.share = share }
        return sharing(of: listID) ?? ListSharing(share)
    }

    func forgetList(_ listID: ListID, _ kind: ShoppingChange.Kind) {
        guard let known = listsByID.removeValue(forKey: listID) else { return }
        notify(ShoppingChange(kind, listID: listID, listTitle: known.title))
    }
}

extension ListSharing.LinkAccess {
    var permission: CKShare.ParticipantPermission {
        switch self {
        case .invitedOnly: .none
        case .read: .readOnly
        case .write: .readWrite
        }
    }
}
