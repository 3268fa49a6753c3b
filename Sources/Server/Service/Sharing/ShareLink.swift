import StratusRecords
import StratusStorage
import StratusWire

/// A share, found by the short GUID of its link.
struct ShareLink: Sendable {
    var owner: String
    var store: any RecordStore

    /// - Throws: ``ServiceError`` when there is no such link in this container.
    init(
        _ shortGUID: String, in context: RequestContext, _ directory: any Directory,
        _ databases: Databases
    ) async throws {
        guard (1...255).contains(shortGUID.utf8.count),
            let row = try await directory.shortGUID(shortGUID),
            row.address == context.address
        else { throw ServiceError.shareNotFound }
        owner = row.owner
        store = try await databases.privateStore(of: row.owner, in: context.address)
    }

    /// The target of the link, in one snapshot.
    struct Target {
        var zone: ZoneRow
        var row: RecordRow
        var sharing: RecordSharing
        var share: RecordSharing.Share

        /// - Throws: ``ServiceError`` when the target is no longer shared.
        init(_ shortGUID: String, _ reader: any StoreReader) throws {
            guard let found = try reader.share(shortGUID: shortGUID),
                let zone = try reader.zones().first(where: { $0.key == found.zone }),
                let row = try reader.records(named: [found.name], in: found.zone)[found.name],
                !row.isDeleted
            else { throw ServiceError.shareNotFound }
            let sharing = try RecordSharing(row)
            guard let share = sharing.share else { throw ServiceError.shareNotFound }
            self.zone = zone
            self.row = row
            self.sharing = sharing
            self.share = share
        }
    }
}

/// What a caller sees of the target of a link.
struct ShareView {
    let context: RequestContext
    let person: ParticipantIdentity
    let owner: String

    /// The target as the caller sees it.
    ///
    /// - Throws: ``ServiceError`` when the link is not for the caller: the same as for an unknown link.
    func metadata(
        _ target: ShareLink.Target, _ asked: ShortGUIDDictionary, _ reader: any StoreReader
    ) throws -> ShareMetadataDictionary {
        var metadata = ShareMetadataDictionary(shortGUID: asked)
        metadata.containerIdentifier = context.address.container
        metadata.environment = context.address.environment
        let share = target.share
        guard let own = part(in: share) else {
            // A person was invited by an address that may be the caller's. The answer has as much of it as the caller
            // needs to know which address to verify.
            let matches = potentialMatches(in: share)
            guard !matches.isEmpty else { throw ServiceError.shareNotFound }
            metadata.potentialMatches = matches
            return metadata
        }
        let isOwner = own.role == .owner
        let place = view(isOwner: isOwner)
        metadata.databaseScope = isOwner ? .private : .shared
        metadata.zoneID = place.zoneID(target.zone.name)
        metadata.rootRecordName = share.root
        metadata.webpageURL = context.origin + "/share/" + asked.value
        metadata.share = RecordDictionary(
            target.row, in: place.zoneID(target.zone.name), viewer: context.caller.viewer)
        // The share does not yet have the user record name of a person who was invited by an address.
        metadata.share?.share = share.dictionary(
            as: share.index(of: person), withExtensions: context.caller.wantsExtensions)
        metadata.ownerIdentity =
            isOwner
            ? share.owner?.dictionary.userIdentity
            : share.owner?.dictionary.withoutAddresses.userIdentity
        metadata.participantRole = own.role
        metadata.participantStatus = own.status
        metadata.participantPermission = share.permission(of: own)
        if asked.shouldFetchRootRecord == true, let root = share.root,
            let row = try reader.records(named: [root], in: target.zone.key)[root], !row.isDeleted
        {
            metadata.rootRecord = try RecordDictionary(
                row, in: place.zoneID(target.zone.name), keys: asked.rootRecordDesiredKeys,
                numbersAsStrings: false, viewer: context.caller.viewer)
        }
        return metadata
    }

    /// The caller as a participant of a share, also before joining; nil when the share is not for the caller.
    func part(in share: RecordSharing.Share) -> ParticipantDictionary? {
        if let index = share.index(of: person) {
            let participant = share.participants[index].dictionary
            let permission = share.permission(of: participant)
            return permission == .readOnly || permission == .readWrite ? participant : nil
        }
        guard share.publicPermission == .readOnly || share.publicPermission == .readWrite,
            !share.accessRequests.isBlocked(person.userRecordName)
        else { return nil }
        return ParticipantDictionary(
            userIdentity: person.dictionary, role: .publicUser, status: .invited,
            permission: share.publicPermission)
    }

    private func view(isOwner: Bool) -> RequestContext {
        context.viewing(owner, in: isOwner ? .private : .shared)
    }

    /// The open invitations by address.
    func potentialMatches(
        in share: RecordSharing.Share
    ) -> [ShareMetadataDictionary.PotentialMatch] {
        share.participants.map(\.dictionary).compactMap { participant in
            let identity = participant.userIdentity
            guard participant.status == .invited, identity.userRecordName == nil,
                participant.permission != .none, let identifier = participant.participantID,
                identity.emailAddress != nil || identity.phoneNumber != nil
            else { return nil }
            return ShareMetadataDictionary.PotentialMatch(
                participantID: identifier, emailAddress: identity.emailAddress.map(Self.masked),
                phoneNumber: identity.phoneNumber.map(Self.masked))
        }
    }

    /// An address that its owner recognises and others cannot learn: the first letter, and those of the domain's first
    /// and last part.
    static func masked(_ address: String) -> String {
        let parts = address.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let domain = parts.last else {
            return "•••" + String(address.suffix(2))
        }
        let ending = domain.split(separator: ".").last.map { "." + $0 } ?? ""
        return "\(parts[0].prefix(1))•••@\(domain.prefix(1))•••\(ending)"
    }
}

/// A link of a request: what was asked, its target, and the person who follows it.
struct FollowedLink: Sendable {
    let asked: ShortGUIDDictionary
    let link: ShareLink
    let person: ParticipantIdentity

    /// - Throws: ``ServiceError`` when the target is no longer shared.
    func target(_ reader: any StoreReader) throws -> ShareLink.Target {
        try ShareLink.Target(asked.value, reader)
    }

    func view(in context: RequestContext) -> ShareView {
        ShareView(context: context, person: person, owner: link.owner)
    }
}
