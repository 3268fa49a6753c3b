import StratusRecords
import StratusWire

/// What a save by the owner or an administrator does to the requests for access to a share.
extension ShareChanges {
    /// Allows or disallows requests, denies those that are left out, blocks and unblocks people.
    ///
    /// A newly blocked person is removed from the participants; a later invitation still lets that person join.
    func changeAccessRequests(
        of share: inout RecordSharing.Share, to wanted: ShareDictionary
    ) throws {
        let old = share.accessRequests
        if let areAllowed = wanted.allowsAccessRequests {
            share.accessRequests.areAllowed = areAllowed
        }
        if let kept = wanted.accessRequesters {
            let names = Set(kept.compactMap(\.userRecordName))
            share.accessRequests.requesters.removeAll { !names.contains($0.userRecordName ?? "") }
        }
        guard let blocked = wanted.blockedIdentities else { return }
        guard blocked.count <= context.limits.blockedIdentitiesPerShare else {
            throw ServiceError.tooManyBlockedIdentities(
                limit: context.limits.blockedIdentitiesPerShare)
        }
        let known = old.blocked + old.requesters + share.participants.map(\.dictionary.userIdentity)
        share.accessRequests.blocked = []
        for wanted in blocked {
            guard let name = wanted.userRecordName, (1...255).contains(name.utf8.count) else {
                throw ServiceError.invalid(
                    "A person to block has no user record name of 1 to 255 bytes; give one.")
            }
            let person =
                known.first { $0.userRecordName == name }
                ?? UserIdentityDictionary(userRecordName: name)
            guard !share.accessRequests.isBlocked(name), !isOwner(person, of: share) else {
                continue
            }
            share.accessRequests.blocked.append(person)
            share.accessRequests.remove(name)
            if !old.isBlocked(name) { remove(person, from: &share) }
        }
    }

    private func remove(_ person: UserIdentityDictionary, from share: inout RecordSharing.Share) {
        let addresses = Set(Self.addresses(of: person))
        share.participants.removeAll {
            $0.dictionary.role != .owner
                && !addresses.isDisjoint(with: Self.addresses(of: $0.dictionary))
        }
    }

    /// Removes the requests of people who may join now, and notes on the participants that they had asked.
    ///
    /// Such a participant is identified by user record name from then on: access goes to the person who asked, even if
    /// the address gets another owner later.
    func approveRequesters(in share: inout RecordSharing.Share) {
        let isPublic =
            share.publicPermission == .readOnly || share.publicPermission == .readWrite
        var waiting: [UserIdentityDictionary] = []
        for requester in share.accessRequests.requesters {
            let addresses = Set(Self.addresses(of: requester))
            let place = share.participants.firstIndex {
                $0.dictionary.role != .owner && $0.dictionary.permission != .none
                    && !addresses.isDisjoint(with: Self.addresses(of: $0.dictionary))
            }
            guard let place else {
                if !isPublic { waiting.append(requester) }
                continue
            }
            share.participants[place].dictionary.isApprovedRequester = true
            let names = share.participants.map(\.dictionary.userIdentity.userRecordName)
            if names[place] == nil, !names.contains(requester.userRecordName) {
                share.participants[place].dictionary.userIdentity.userRecordName =
                    requester.userRecordName
            }
        }
        share.accessRequests.requesters = waiting
    }
}
