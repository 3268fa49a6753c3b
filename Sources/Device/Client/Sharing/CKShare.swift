import Foundation
import StratusRecords
import StratusWire

/// The record name of the share of a whole zone.
public let CKRecordNameZoneWideShare = ShareDictionary.zoneShareName

/// A share: a record that gives other people access to a record and its descendants, or to a whole
/// zone.
///
/// A share of a hierarchy is saved in one operation with its root, in a custom zone of the private
/// database. After the save it has a ``url``, by which participants join.
///
/// ```swift
/// let share = CKShare(rootRecord: trail)
/// share[CKShare.SystemFieldKey.title] = "Sunday's trail"
/// share.addParticipant(try await container.shareParticipant(forEmailAddress: "bo@example.org"))
/// _ = try await container.privateCloudDatabase.modifyRecords(saving: [trail, share], deleting: [])
/// if let link = share.url { print(link) }
/// ```
///
/// When its owner deletes the share, it ends for everyone; a participant who deletes it in the
/// shared database leaves it. A share has 100 invited participants at most.
///
/// `@unchecked Sendable` as every record: its mutable state is in the mutex of `CKRecord`, and
/// participants have their own.
public final class CKShare: CKRecord, @unchecked Sendable {
    /// The owner of a share, or a person who was invited or joined; see ``CKShareParticipant``.
    public typealias Participant = CKShareParticipant

    /// The keys of the values that describe a share to people; apps set them on the share.
    public enum SystemFieldKey {
        /// The key of the title of the shared item, a string that is also part of the share's link.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// The key of a picture of the shared item, as the `Data` of an image file; it is only
        /// stored.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The key of the type of the shared item, a name that the app chooses.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    init(recordID: CKRecord.ID, state: RecordState) {
        super.init(recordType: CKRecord.SystemType.share, recordID: recordID, state: state)
    }

    /// Shares a record and its descendants by `parent`; sets the record's `share`.
    ///
    /// - Parameter shareID: must be in the zone of the root, or saving fails.
    /// - Parameter rootRecord: the record to share.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var state = RecordState()
        state.sharing = ShareState(rootName: rootRecord.recordID.recordName)
        self.init(recordID: shareID, state: state)
        rootRecord.state.withLock {
            $0.share = CKReference(recordID: shareID, action: .none)
        }
    }

    /// Shares a record and its descendants by `parent`, under a new name in the zone of the record.
    public convenience init(rootRecord: CKRecord) {
        self.init(
            rootRecord: rootRecord, shareID: CKRecordID(zoneID: rootRecord.recordID.zoneID))
    }

    /// Shares a whole zone; its name is `CKRecordNameZoneWideShare`.
    public convenience init(recordZoneID: CKRecordZone.ID) {
        var state = RecordState()
        state.sharing = ShareState(rootName: nil)
        self.init(
            recordID: CKRecordID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID),
            state: state)
    }

    private func sharing<Value>(_ read: (ShareState) -> Value) -> Value? {
        state.withLock { $0.sharing }.map(read)
    }

    // MARK: The link

    /// The link of the share, nil before it is saved: `…/share/<identifier>#<title>~<key>`.
    ///
    /// The key is for the zone's encrypted values; it is missing if this device has none. The
    /// identifier stays the same while the share exists; the title is for people.
    public var url: URL? {
        let title: String? = self[SystemFieldKey.title]
        return sharing { sharing -> URL? in
            guard let shortGUID = sharing.shortGUID, let origin = sharing.linkOrigin else {
                return nil
            }
            return ShareLink(
                origin: origin, shortGUID: shortGUID, title: title, key: sharing.linkKey
            ).url
        } ?? nil
    }

    /// The link for a one-time participant: the first person who opens it can join. Nil before the
    /// share is saved, after a person joined by it, and for participants who were invited by
    /// address.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? {
        let title: String? = self[SystemFieldKey.title]
        return sharing { sharing -> URL? in
            guard let shortGUID = sharing.shortGUID, let origin = sharing.linkOrigin,
                let token = sharing.oneTimeToken(of: participantID)
            else { return nil }
            return ShareLink(
                origin: origin, shortGUID: shortGUID, title: title, oneTimeToken: token,
                key: sharing.linkKey
            ).url
        } ?? nil
    }

    // MARK: Participants

    /// What anyone with the link may do; with `.none` only participants have access.
    ///
    /// Setting a permission other than `.none` cancels open invitations; setting `.none` removes,
    /// when the share is saved, the people who joined by the link.
    public var publicPermission: ParticipantPermission {
        get { sharing(\.publicPermission) ?? .none }
        set { state.withLock { $0.sharing?.setPublicPermission(newValue) } }
    }

    /// The owner and the people who were invited or joined, if the user may see them.
    ///
    /// Changes of a participant are saved with the share.
    public var participants: [Participant] { sharing(\.participants) ?? [] }

    /// The participant who owns the share; for a new share, the user who is signed in.
    public var owner: Participant {
        // All initializers set the state, so the default is never used.
        sharing(\.owner) ?? ShareState(rootName: nil).owner
    }

    /// The user as a participant; nil for a user who only has the link of a public share.
    public var currentUserParticipant: Participant? {
        sharing(\.currentUserParticipant) ?? nil
    }

    /// Invites a person, or changes the role and permission of an existing participant.
    ///
    /// The share's public permission must be `.none`; otherwise saving fails with
    /// `CKError.invalidArguments`. Source: Apple's page "addParticipant(_:)".
    public func addParticipant(_ participant: Participant) {
        state.withLock { $0.sharing?.add(participant) }
    }

    /// Removes a participant, who loses access when the share is saved. The owner cannot be
    /// removed.
    ///
    /// The share's public permission must be `.none`; otherwise saving fails with
    /// `CKError.invalidArguments`.
    public func removeParticipant(_ participant: Participant) {
        state.withLock { $0.sharing?.remove(participant) }
    }

    /// The description of a record, with the link without its key, the public permission and the
    /// participants.
    public override var description: String {
        let people = participants.map { participant in
            let identity = participant.userIdentity
            let name =
                identity.lookupInfo?.emailAddress ?? identity.userRecordID?.recordName
                ?? participant.participantID
            return "\(name) \(participant.role) \(participant.permission)"
                + " \(participant.acceptanceStatus)"
        }
        let link = url?.absoluteString.prefix { $0 != "#" }
        return describe(
            "CKShare",
            [
                "url=\(link.map(String.init) ?? "nil")", "publicPermission=\(publicPermission)",
                "participants=[\(people.joined(separator: ", "))]",
            ])
    }
}

extension CKShare {
    /// The root record of a share of a hierarchy; nil for a share of a zone.
    package var rootRecordID: CKRecord.ID? {
        state.withLock { $0.sharing?.rootName }
            .map { CKRecordID(known: $0, zoneID: recordID.zoneID) }
    }
}

extension CKRecord {
    /// The root record that must be saved together with this one, if it is a new share of a
    /// hierarchy.
    var rootOfNewShare: CKRecord.ID? {
        state.withLock { $0.changeTag == nil ? $0.sharing?.rootName : nil }
            .map { CKRecordID(known: $0, zoneID: recordID.zoneID) }
    }
}
