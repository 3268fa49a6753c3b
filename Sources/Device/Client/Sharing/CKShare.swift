import Foundation
import StratusRecords
import StratusWire

/// The record name of the share of a whole zone.
public let CKRecordNameZoneWideShare = ShareDictionary.zoneShareName

/// A share: a record that says who else may see a record with all below it, or a whole zone.
///
/// A share of a hierarchy is saved in one operation with its root, in a custom zone of the private
/// database. Its ``url`` is there after the save; whoever is a participant joins by it.
///
/// ```swift
/// let share = CKShare(rootRecord: trail)
/// share[CKShare.SystemFieldKey.title] = "Sunday's trail"
/// share.addParticipant(try await container.shareParticipant(forEmailAddress: "bo@example.org"))
/// _ = try await container.privateCloudDatabase.modifyRecords(saving: [trail, share], deleting: [])
/// print(share.url)
/// ```
///
/// Deleting the share ends it for all when its owner does so; a participant who deletes it, in the
/// shared database, leaves. A share has 100 participants at most.
///
/// `@unchecked Sendable` as every record: what changes is behind its lock, participants have locks
/// of their own.
public final class CKShare: CKRecord, @unchecked Sendable {
    public typealias Participant = CKShareParticipant
    public typealias Metadata = CKShareMetadata

    public enum SystemFieldKey {
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// What is shared, as an app names its own types.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    init(recordID: CKRecord.ID, state: RecordState) {
        super.init(recordType: CKRecord.SystemType.share, recordID: recordID, state: state)
    }

    /// Shares a record and all that reaches it by `parent`; sets the record's `share`.
    ///
    /// - Parameter shareID: in the zone of the root; with another zone no save succeeds.
    /// - Parameter rootRecord: the record to share.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var state = RecordState()
        state.sharing = ShareState(rootName: rootRecord.recordID.recordName)
        self.init(recordID: shareID, state: state)
        rootRecord.state.withLock {
            $0.share = CKReference(recordID: shareID, action: .none)
        }
    }

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
    /// The key is for the zone's encrypted values; it is missing where this device has none.
    /// The identifier stays the same for as long as the share is there; the title is for people.
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

    /// The link for one person, whoever opens it first; nil before the share is saved, after
    /// somebody joined by it, and of participants who were invited by address.
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

    /// What everybody may do who has the link; `.none` is for participants alone.
    ///
    /// Setting another permission than `.none` voids open invitations; setting `.none` removes, at
    /// the save, who joined by the link.
    public var publicPermission: ParticipantPermission {
        get { sharing(\.publicPermission) ?? .none }
        set { state.withLock { $0.sharing?.setPublicPermission(newValue) } }
    }

    /// The owner, and who was invited or takes part, as far as the user may see them.
    ///
    /// What is set on a participant is saved with the share.
    public var participants: [Participant] { sharing(\.participants) ?? [] }

    public var owner: Participant {
        // Every share has its state, see the initializers.
        sharing(\.owner) ?? ShareState(rootName: nil).owner
    }

    /// The user's own part; nil for somebody who only has the link of a public share.
    public var currentUserParticipant: Participant? {
        sharing(\.currentUserParticipant) ?? nil
    }

    /// Invites somebody, or changes the role and permission of who is a participant already.
    ///
    /// Only of shares whose public permission is `.none`: a save says `CKError.invalidArguments` else.
    /// Source: Apple's page "addParticipant(_:)".
    public func addParticipant(_ participant: Participant) {
        state.withLock { $0.sharing?.add(participant) }
    }

    /// Removes somebody, who loses access when the share is saved. The owner stays.
    ///
    /// Only of shares whose public permission is `.none`: a save says `CKError.invalidArguments`
    /// else.
    public func removeParticipant(_ participant: Participant) {
        state.withLock { $0.sharing?.remove(participant) }
    }

    /// As of every record, with the link without its key, the public permission and the participants.
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

extension CKRecord {
    /// The root that has to be saved together with this record, when it is a new share of one.
    var rootOfNewShare: CKRecord.ID? {
        state.withLock { $0.changeTag == nil ? $0.sharing?.rootName : nil }
            .map { CKRecordID(known: $0, zoneID: recordID.zoneID) }
    }
}
