import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

/// The sharing data of a record's row: the content of ``RecordRow/sharing``.
///
/// Format 1: the byte 1; short GUID and share name, both optional strings; then on a share the root (an
/// optional string), the public permission, the number of participants as four bytes, and of each the
/// eight bytes of `since` and its JSON, counted. Format 2, of shares with requests for access, begins with
/// the byte 2 and has them at the end, see ``AccessRequests``.
struct RecordSharing: Hashable, Sendable {
    /// The short GUID of the record's link.
    var shortGUID: String?
    /// The name of the share whose root the record is.
    var shareName: String?
    /// Nil unless the record is a share.
    var share: Share?

    /// A share as it is stored.
    struct Share: Hashable, Sendable {
        /// Nil when the whole zone is shared.
        var root: String?
        var publicPermission: SharePermission
        /// The owner comes first.
        var participants: [Participant]
        var accessRequests = AccessRequests()
    }

    struct Participant: Hashable, Sendable {
        var dictionary: ParticipantDictionary
        /// A new number each time that the participant gains access.
        var since: Int64
    }

    init(shortGUID: String? = nil, shareName: String? = nil, share: Share? = nil) {
        self.shortGUID = shortGUID
        self.shareName = shareName
        self.share = share
    }

    var isEmpty: Bool { shortGUID == nil && shareName == nil && share == nil }
}

extension RecordSharing {
    private static let format: UInt8 = 1
    private static let formatWithAccessRequests: UInt8 = 2

    /// Reads the sharing data of a row.
    ///
    /// - Throws: ``ByteReader/Malformed`` or ``WireError`` when the bytes have another version.
    init(_ row: RecordRow) throws {
        self.init()
        guard !row.sharing.isEmpty else { return }
        let head: SharingHead
        do {
            head = try SharingHead(row.sharing)
        } catch {
            // The same error as for the bytes that follow.
            throw ByteReader.Malformed()
        }
        let format = head.format
        guard format == Self.format || format == Self.formatWithAccessRequests else {
            throw ByteReader.Malformed()
        }
        shortGUID = head.shortGUID
        shareName = head.shareName
        var reader = ByteReader(head.rest)
        guard !reader.isAtEnd else { return }
        var share = Share(
            root: try reader.optionalString(),
            publicPermission: SharePermission(rawValue: try reader.string()) ?? .none,
            participants: [])
        let count: UInt32 = try reader.number()
        for _ in 0..<count {
            let since: Int64 = try reader.number()
            share.participants.append(
                Participant(dictionary: try readWire(from: try reader.counted()), since: since))
        }
        if format == Self.formatWithAccessRequests {
            share.accessRequests = try AccessRequests(&reader)
        }
        self.share = share
    }

    /// The bytes for a row.
    var bytes: [UInt8] {
        if isEmpty { return [] }
        var writer = ByteWriter()
        let requests = share?.accessRequests ?? AccessRequests()
        writer.write(requests.isEmpty ? Self.format : Self.formatWithAccessRequests)
        writer.write(shortGUID)
        writer.write(shareName)
        guard let share else { return writer.bytes }
        writer.write(share.root)
        writer.write(share.publicPermission.rawValue)
        writer.write(number: UInt32(share.participants.count))
        for participant in share.participants {
            writer.write(number: participant.since)
            writer.write(counted: wireBytes(of: participant.dictionary))
        }
        if !requests.isEmpty { requests.write(to: &writer) }
        return writer.bytes
    }
}

extension RecordSharing.Share {
    var owner: RecordSharing.Participant? { participants.first }

    /// What a participant may do: one who joined publicly has the public permission.
    func permission(of participant: ParticipantDictionary) -> SharePermission {
        participant.role == .publicUser ? publicPermission : participant.permission
    }

    /// The people who have access by the share, apart from its owner.
    func access(by name: String) -> [ShareAccessRow] {
        participants.compactMap { participant in
            let dictionary = participant.dictionary
            let permission = permission(of: dictionary)
            guard dictionary.role != .owner, dictionary.status == .accepted,
                permission == .readOnly || permission == .readWrite,
                let user = dictionary.userIdentity.userRecordName
            else { return nil }
            return ShareAccessRow(
                share: name, user: user, root: root, canWrite: permission == .readWrite,
                since: participant.since)
        }
    }

    /// The share as a caller sees it.
    ///
    /// Its owner and administrators see everything; other participants see who takes part, without any addresses but
    /// their own; everyone else sees only the owner.
    func dictionary(for viewer: RecordViewer) -> ShareDictionary {
        dictionary(
            as: viewer.userRecordName.flatMap { name in
                participants.firstIndex { $0.dictionary.userIdentity.userRecordName == name }
            }, withExtensions: viewer.wantsExtensions)
    }

    /// The share as one of its participants sees it or, with nil, a person who is not a participant.
    func dictionary(as index: Int?, withExtensions: Bool) -> ShareDictionary {
        let all = participants.map { participant in
            var dictionary = participant.dictionary
            dictionary.permission = permission(of: dictionary)
            if !withExtensions {
                dictionary.isApprovedRequester = false
                dictionary.dateAddedMilliseconds = nil
            }
            return dictionary
        }
        let own = index.map { all[$0] }
        let seesAll =
            own?.role == .owner || own?.role == .administrator && own?.status == .accepted
        let shown = all.compactMap { participant -> ParticipantDictionary? in
            if seesAll || participant == own { return participant }
            guard participant.role == .owner || own != nil && participant.status == .accepted
            else { return nil }
            return participant.withoutAddresses
        }
        var dictionary = ShareDictionary(
            publicPermission: publicPermission, participants: shown, owner: shown.first,
            currentUserParticipant: own)
        guard withExtensions else { return dictionary }
        // With it a device can share the record again if the service loses the share.
        if seesAll { dictionary.root = root.map { ShareDictionary.Root(recordName: $0) } }
        guard !accessRequests.isEmpty else { return dictionary }
        dictionary.allowsAccessRequests = accessRequests.areAllowed
        if seesAll {
            dictionary.accessRequesters = accessRequests.requesters
            dictionary.blockedIdentities = accessRequests.blocked
        }
        return dictionary
    }
}

extension ParticipantDictionary {
    /// The participant without the data that only the owner and the administrators of a share, and the participant, may
    /// see.
    var withoutAddresses: ParticipantDictionary {
        var participant = self
        participant.userIdentity.lookupInfo = nil
        return participant
    }
}

extension RecordDictionary {
    /// Adds the sharing data of a row.
    ///
    /// - Parameter viewer: The caller; one without a user name sees what a person outside the share sees.
    mutating func show(_ sharing: RecordSharing, to viewer: RecordViewer) {
        shortGUID = sharing.shortGUID
        shareRecordName = sharing.shareName
        share = sharing.share?.dictionary(for: viewer)
    }
}
