import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// What a save by the owner or an administrator changes in a share.
struct ShareChanges {
    /// The owner; nil when an administrator saves.
    let owner: ParticipantIdentity?
    /// Its moment is when participants are added, and its limits are those of the share.
    let context: RequestContext
    /// Makes the identifiers of participants.
    let world: World

    /// A new share: the owner is a participant from the beginning.
    func newShare(root: String?, _ wanted: ShareDictionary) throws -> RecordSharing.Share {
        guard let owner else { throw ServiceError.notPermitted }
        let participant = ParticipantDictionary(
            participantID: world.newUUID(), userIdentity: owner.dictionary, role: .owner,
            status: .accepted, permission: .readWrite,
            dateAddedMilliseconds: context.nowMilliseconds)
        let share = RecordSharing.Share(
            root: root, publicPermission: .none,
            participants: [.init(dictionary: participant, since: 0)])
        return try changed(share, to: wanted)
    }

    /// The share with the participants and the public permission of a request; what the request leaves out stays.
    /// Administrators add and remove users, but cannot change the owner, each other or the public permission.
    func changed(
        _ old: RecordSharing.Share, to wanted: ShareDictionary
    ) throws -> RecordSharing.Share {
        var share = old
        if let owner, !share.participants.isEmpty {
            share.participants[0].dictionary.userIdentity.takeName(of: owner)
        }
        if let permission = wanted.publicPermission, permission != .unknown {
            guard owner != nil || permission == old.publicPermission else {
                throw ServiceError.notPermitted
            }
            share.publicPermission = permission
        }
        if let participants = wanted.participants {
            try replace(with: participants, in: &share)
        }
        try changeAccessRequests(of: &share, to: wanted)
        if share.publicPermission == .none {
            // Participants who joined by the public permission are removed when it ends.
            share.participants.removeAll { $0.dictionary.role == .publicUser }
        }
        guard share.invitedCount <= context.limits.participantsPerShare else {
            throw ServiceError.tooManyParticipants(limit: context.limits.participantsPerShare)
        }
        guard owner != nil || share.administrators == old.administrators else {
            throw ServiceError.notPermitted
        }
        for index in share.participants.indices {
            let participant = share.participants[index].dictionary
            // A participant without any permission is removed; with a new permission, the link lets that person join
            // again.
            if participant.status == .accepted, participant.permission == .none,
                participant.role != .publicUser
            {
                share.participants[index].dictionary.status = .removed
            }
        }
        approveRequesters(in: &share)
        return share
    }

    /// Replaces the participants: those who are not in the request's list are removed.
    private func replace(
        with wanted: [ParticipantDictionary], in share: inout RecordSharing.Share
    ) throws {
        let othersCount = share.participants.count - share.invitedCount
        guard wanted.count <= context.limits.participantsPerShare + othersCount else {
            throw ServiceError.tooManyParticipants(limit: context.limits.participantsPerShare)
        }
        let old = share.participants
        var kept: Set<Int> = [0]
        var list = Array(old.prefix(1))
        for participant in wanted {
            let identity = try checked(participant.userIdentity)
            guard let index = index(of: participant, identity, in: old) else {
                guard participant.role != .owner, !isOwner(identity, of: share) else { continue }
                list.append(try invited(participant, identity))
                continue
            }
            guard index > 0 else { continue }
            guard kept.insert(index).inserted else {
                throw ServiceError.participantAlreadyInvited
            }
            let isRemoval =
                participant.status == .removed && old[index].dictionary.status != .removed
            if isRemoval { continue }
            var changed = old[index]
            if changed.dictionary.role != .publicUser {
                if participant.permission != .unknown {
                    changed.dictionary.permission = participant.permission
                }
                changed.dictionary.take(role: participant.role)
            }
            list.append(changed)
        }
        let addresses = list.flatMap { Self.addresses(of: $0.dictionary) }
        guard Set(addresses).count == addresses.count else {
            throw ServiceError.participantAlreadyInvited
        }
        share.participants = list
    }

    private func index(
        of participant: ParticipantDictionary, _ identity: UserIdentityDictionary,
        in list: [RecordSharing.Participant]
    ) -> Int? {
        if let identifier = participant.participantID,
            let index = list.firstIndex(where: { $0.dictionary.participantID == identifier })
        {
            return index
        }
        let wanted = Set(Self.addresses(of: identity))
        return list.firstIndex {
            !wanted.isDisjoint(with: Self.addresses(of: $0.dictionary))
        }
    }

    func isOwner(
        _ identity: UserIdentityDictionary, of share: RecordSharing.Share
    ) -> Bool {
        if owner?.matches(identity) == true { return true }
        let known = share.owner.map { Self.addresses(of: $0.dictionary) } ?? []
        return !Set(Self.addresses(of: identity)).isDisjoint(with: known)
    }

    private func invited(
        _ participant: ParticipantDictionary, _ identity: UserIdentityDictionary
    ) throws -> RecordSharing.Participant {
        guard participant.role != .publicUser else {
            throw ServiceError.invalid(
                "A participant has the role of people who join a public share by its link; leave it out."
            )
        }
        guard !Self.addresses(of: identity).isEmpty else {
            throw ServiceError.invalid(
                "A person to invite has no e-mail address, phone number or record name; give one.")
        }
        let permission = participant.permission
        var dictionary = ParticipantDictionary(
            participantID: world.newUUID(), userIdentity: identity, role: .user,
            status: .invited, permission: permission == .unknown ? .readOnly : permission,
            dateAddedMilliseconds: context.nowMilliseconds)
        dictionary.take(role: participant.role)
        return RecordSharing.Participant(dictionary: dictionary, since: 0)
    }

    /// The parts of an identity that an invitation may have: how to find the person, and nothing else.
    private func checked(
        _ identity: UserIdentityDictionary
    ) throws -> UserIdentityDictionary {
        var checked = UserIdentityDictionary(
            userRecordName: identity.userRecordName ?? identity.lookupUserRecordName,
            emailAddress: identity.emailAddress, phoneNumber: identity.phoneNumber,
            lookupUserRecordName: identity.lookupUserRecordName)
        if let token = identity.lookupInfo?.oneTimeToken, checked.lookupInfo == nil {
            checked.lookupInfo = UserLookupInfo(oneTimeToken: token)
        }
        let texts = [
            checked.userRecordName, checked.emailAddress, checked.phoneNumber,
            checked.lookupInfo?.oneTimeToken,
        ]
        guard texts.allSatisfy({ ($0?.utf8.count ?? 1) <= 320 && $0?.isEmpty != true }) else {
            throw ServiceError.invalid(
                "An address or name of a participant is empty or longer than 320 bytes; give it 1 to 320."
            )
        }
        return checked
    }

    static func addresses(of participant: ParticipantDictionary) -> [String] {
        addresses(of: participant.userIdentity)
    }

    /// The addresses by which people are distinguished.
    static func addresses(of identity: UserIdentityDictionary) -> [String] {
        [
            identity.userRecordName.map { "user " + $0 },
            identity.emailAddress.map { "mail " + ParticipantIdentity.normalized($0) },
            identity.phoneNumber.map { "phone " + $0.filter { !$0.isWhitespace } },
            identity.lookupInfo?.oneTimeToken.map { "token " + $0 },
        ].compactMap { $0 }
    }
}

extension ParticipantDictionary {
    /// Makes the participant an administrator, who may always write, or ends that.
    fileprivate mutating func take(role wanted: ParticipantRole) {
        switch wanted {
        case .administrator:
            role = .administrator
            permission = .readWrite
        case .user: role = .user
        case .owner, .publicUser, .unknown: return
        }
    }
}

extension RecordSharing.Share {
    /// The current administrators.
    fileprivate var administrators: [ParticipantDictionary] {
        participants.map(\.dictionary).filter { $0.role == .administrator }
    }

    /// How many people were invited. Those who joined by the public permission take no places of theirs: anyone who
    /// learns the link could otherwise keep the owner from inviting.
    fileprivate var invitedCount: Int {
        participants.count { $0.dictionary.role != .owner && $0.dictionary.role != .publicUser }
    }

    /// Whether a user has joined as an administrator.
    func isAdministrator(_ user: String?) -> Bool {
        administrators.contains {
            $0.status == .accepted && user != nil && $0.userIdentity.userRecordName == user
        }
    }
}

extension World {
    /// A random number that identifies the moment at which a participant gained access.
    func newMark() -> Int64 {
        Int64(bitPattern: randomNumber())
    }

    /// The short GUID of a link: 24 characters that need no escaping, of 18 random bytes. It cannot be guessed.
    func newShortGUID() -> String {
        Base64.addressText(randomBytes(18))
    }
}

extension RecordSharing.Share {
    /// Adds a person to the participants, also one who left before.
    ///
    /// - Throws: ``ServiceError`` when the person is not invited and the share is not public, or when no
    ///   place is left.
    mutating func join(
        _ person: ParticipantIdentity, in context: RequestContext, _ world: World
    ) throws {
        var dictionary: ParticipantDictionary
        let index = index(of: person)
        if let index {
            dictionary = participants[index].dictionary
        } else {
            guard publicPermission == .readOnly || publicPermission == .readWrite else {
                throw ServiceError.shareNotFound
            }
            guard participants.count - 1 < context.limits.participantsPerShare else {
                throw ServiceError.shareFull(limit: context.limits.participantsPerShare)
            }
            dictionary = ParticipantDictionary(
                participantID: world.newUUID(), userIdentity: person.dictionary,
                role: .publicUser, permission: publicPermission,
                dateAddedMilliseconds: context.nowMilliseconds)
        }
        accessRequests.remove(person.userRecordName)
        dictionary.status = .accepted
        // The owner keeps seeing the address by which the person was found. A one-time invitation is used up: no one
        // else can use it.
        dictionary.userIdentity.userRecordName = person.userRecordName
        dictionary.userIdentity.takeName(of: person)
        dictionary.userIdentity.lookupInfo?.oneTimeToken = nil
        if dictionary.userIdentity.lookupInfo?.isEmpty ?? true {
            dictionary.userIdentity.lookupInfo = person.dictionary.lookupInfo
        }
        let joined = RecordSharing.Participant(dictionary: dictionary, since: world.newMark())
        if let index { participants[index] = joined } else { participants.append(joined) }
    }

    /// Removes a user from the participants; one who was invited by name can join again with the same link.
    ///
    /// - Parameter isForGood: Whether the account is being deleted: then nothing of the user stays.
    mutating func leave(_ user: String, forGood isForGood: Bool) {
        guard
            let index = participants.firstIndex(where: {
                $0.dictionary.userIdentity.userRecordName == user && $0.dictionary.role != .owner
            })
        else { return }
        if isForGood || participants[index].dictionary.role == .publicUser {
            participants.remove(at: index)
        } else {
            participants[index].dictionary.status = .removed
        }
    }
}
