import Foundation
import StratusRecords
import StratusWire

/// The part of ``RecordState`` that only a share has.
struct ShareState: Sendable {
    /// The terms of a share that its owner sets.
    struct Terms: Hashable, Sendable {
        var publicPermission: SharePermission = .none
        var participants: [ParticipantDictionary] = []
        var accessRequests = AccessRequests()
    }

    /// The name of the root record of a share that is not saved yet; nil for a share of the zone.
    var rootName: String?
    private(set) var publicPermission = CKShare.ParticipantPermission.none
    /// The participants, the owner first. The app may change them, so two records never have the
    /// same objects.
    private(set) var participants: [CKShareParticipant] = []
    private(set) var currentParticipantID: String?
    var accessRequests = AccessRequests()
    /// The identifier in the share's link.
    var shortGUID: String?
    /// The origin of the share's link.
    var linkOrigin: String?
    /// The key of the zone's encrypted values in the link; nil when this device has none.
    var linkKey: ZoneKey?
    /// The terms at the service.
    private(set) var known = Terms()

    /// Makes a new share, which the signed-in user owns.
    init(rootName: String?, ownersID: String = UUID().uuidString) {
        self.rootName = rootName
        let owner = ParticipantDictionary(
            participantID: ownersID,
            userIdentity: UserIdentityDictionary(userRecordName: CKCurrentUserDefaultName),
            role: .owner, status: .accepted, permission: .readWrite)
        participants = [CKShareParticipant(owner)]
        currentParticipantID = ownersID
        known = terms
    }

    /// Makes a share from an answer.
    init(_ dictionary: ShareDictionary, shortGUID: String?, linkOrigin: String?) {
        rootName = dictionary.root?.recordName
        publicPermission = CKShare.ParticipantPermission(dictionary.publicPermission ?? .none)
        var list = dictionary.participants ?? []
        if let owner = dictionary.owner, !list.contains(where: { $0.role == .owner }) {
            list.insert(owner, at: 0)
        }
        participants = list.map { CKShareParticipant($0) }
        currentParticipantID = dictionary.currentUserParticipant?.participantID
        accessRequests = AccessRequests(dictionary)
        self.shortGUID = shortGUID
        self.linkOrigin = linkOrigin
        known = terms
    }

    var terms: Terms {
        Terms(
            publicPermission: publicPermission.word, participants: participants.map(\.dictionary),
            accessRequests: accessRequests)
    }

    var owner: CKShareParticipant {
        participants.first { $0.role == .owner }
            // If the service named no owner, a participant without a known person takes the owner's place.
            ?? CKShareParticipant(
                ParticipantDictionary(
                    userIdentity: UserIdentityDictionary(userRecordName: nil), role: .owner,
                    status: .unknown, permission: .unknown))
    }

    var currentUserParticipant: CKShareParticipant? {
        currentParticipantID.flatMap { id in participants.first { $0.participantID == id } }
    }

    /// The one-time token of a participant that the service knows; nil for a participant who needs none.
    func oneTimeToken(of participantID: String) -> String? {
        known.participants.first { $0.participantID == participantID }?
            .userIdentity.lookupInfo?.oneTimeToken
    }

    // MARK: What the owner decides

    mutating func setPublicPermission(_ permission: CKShare.ParticipantPermission) {
        if publicPermission == .none, permission != .none {
            // Anyone may join now, so open invitations are cancelled.
            participants.removeAll { $0.acceptanceStatus == .pending && $0.role != .owner }
        }
        publicPermission = permission
    }

    mutating func add(_ participant: CKShareParticipant) {
        if let present = participants.first(where: { $0.isEqual(participant) }) {
            if present !== participant, present.role != .owner {
                present.update(from: participant.dictionary)
            }
        } else {
            participants.append(participant)
        }
    }

    mutating func remove(_ participant: CKShareParticipant) {
        participants.removeAll { $0.isEqual(participant) && $0.role != .owner }
    }

    // MARK: Copies

    /// A copy with its own participant objects.
    var copied: ShareState {
        var copy = self
        copy.participants = participants.map { CKShareParticipant($0.dictionary) }
        return copy
    }

    /// The share at the service, without unsaved changes.
    var base: ShareState {
        var base = self
        base.participants = known.participants.map { CKShareParticipant($0) }
        base.publicPermission = CKShare.ParticipantPermission(known.publicPermission)
        base.accessRequests = known.accessRequests
        return base
    }

    // MARK: Saving

    /// The dictionary that a save sends: only the changes.
    ///
    /// - Throws: `CKError.invalidArguments` when a participant was added to or removed from a
    ///   public share.
    func draft(_ terms: Terms, isNew: Bool) throws -> ShareDictionary {
        var dictionary = ShareDictionary()
        if isNew { dictionary.root = rootName.map { ShareDictionary.Root(recordName: $0) } }
        if terms.publicPermission != known.publicPermission {
            dictionary.publicPermission = terms.publicPermission
        }
        terms.accessRequests.write(to: &dictionary, known: known.accessRequests)
        guard terms.participants != known.participants else { return dictionary }
        let knownIDs = isNew ? [] : Set(known.participants.compactMap(\.participantID))
        var list = isNew ? terms.participants.filter { $0.role != .owner } : terms.participants
        let kept = knownIDs.intersection(list.compactMap(\.participantID))
        // Making a share public cancels open invitations, which does not remove participants.
        let isAnybodyRemoved = known.publicPermission != .none && kept != knownIDs
        if terms.publicPermission != .none, isAnybodyRemoved || kept.count < list.count {
            throw CKError(
                .invalidArguments,
                "Everyone with the link may join the share; set publicPermission to"
                    + " none before you add or remove participants.")
        }
        for index in list.indices where !kept.contains(list[index].participantID ?? "") {
            list[index].participantID = nil
        }
        dictionary.participants = list
        return dictionary
    }

    /// Adopts the service's answer to a save, but keeps changes made since the request was built.
    mutating func confirm(_ server: ShareState, sent: Terms) {
        if publicPermission.word == sent.publicPermission {
            publicPermission = server.publicPermission
        }
        var confirmed: [CKShareParticipant] = []
        for theirs in server.participants {
            let dictionary = theirs.dictionary
            let wasSent = sent.participants.first { $0.isSamePerson(as: dictionary) }
            if let own = participants.first(where: { $0.isEqual(theirs) }) {
                own.confirm(dictionary, sent: wasSent)
                confirmed.append(own)
            } else if wasSent == nil {
                confirmed.append(theirs)
            }
        }
        // Participants that the app added during the request.
        let added = participants.filter { own in
            let dictionary = own.dictionary
            return !confirmed.contains { $0 === own }
                && !sent.participants.contains { $0.isSamePerson(as: dictionary) }
        }
        participants = confirmed + added
        accessRequests.confirm(server.accessRequests, sent: sent.accessRequests)
        currentParticipantID = server.currentParticipantID
        shortGUID = server.shortGUID ?? shortGUID
        linkOrigin = server.linkOrigin ?? linkOrigin
        linkKey = server.linkKey ?? linkKey
        known = server.known
    }
}

extension ShareState {
    /// Writes the share with its unsaved terms.
    func archive(with coder: NSCoder) {
        coder.archive(wire: dictionary(terms), "sharing")
        coder.archive(wire: dictionary(known), "knownSharing")
        coder.archive(linkOrigin, "linkOrigin")
        coder.archive(linkKey, "linkKey")
    }

    /// - Returns: nil when a part is missing or damaged.
    init?(coder: NSCoder) {
        guard let now = coder.archived(RecordDictionary.self, "sharing"), let share = now.share,
            let known = coder.archived(RecordDictionary.self, "knownSharing")?.share
        else { return nil }
        self.init(
            share, shortGUID: now.shortGUID, linkOrigin: coder.archivedString("linkOrigin"))
        linkKey = coder.archivedZoneKey("linkKey")
        self.known = Terms(
            publicPermission: known.publicPermission ?? .none,
            participants: known.participants ?? [], accessRequests: AccessRequests(known))
    }

    /// The share with these terms, in the form of an answer.
    func dictionary(_ terms: Terms) -> RecordDictionary {
        var share = ShareDictionary(
            root: rootName.map { ShareDictionary.Root(recordName: $0) },
            publicPermission: terms.publicPermission, participants: terms.participants,
            currentUserParticipant: currentUserParticipant?.dictionary)
        terms.accessRequests.write(to: &share)
        return RecordDictionary(shortGUID: shortGUID, share: share)
    }
}
