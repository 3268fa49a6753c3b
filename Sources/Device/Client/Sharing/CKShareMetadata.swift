import Foundation
import StratusRecords
import StratusWire

/// The metadata of the share behind a link, as the current user may see it. `CKShare.Metadata` in
/// code.
///
/// Fetch it with `CKContainer.shareMetadata(for:)` and join with `CKContainer.accept(_:)`. Metadata
/// are equal if they are of the same share in the same container.
public final class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The container of the share, in which the user joins it.
    public let containerIdentifier: String
    /// The share as the user may see it: before joining, with only the owner and the user.
    public let share: CKShare
    /// The root of the shared hierarchy; nil when the whole zone is shared.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The role that the user has in the share, or will have after joining; `.unknown` if the
    /// service does not say.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the user has joined the share: `.pending` before, `.removed` after leaving;
    /// `.unknown` if the service does not say.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// What the user may do with the shared records after joining; `.unknown` if the service does
    /// not say.
    public let participantPermission: CKShare.ParticipantPermission
    /// The owner of the share. Stratus's service shows the owner's addresses only to the owner.
    public let ownerIdentity: CKUserIdentity
    /// The root record, if it was requested (`shouldFetchRootRecord`) and exists.
    public let rootRecord: CKRecord?
    /// The link of the request.
    let link: ShortGUIDDictionary
    /// The key of the zone's encrypted values; nil for a link without one.
    let linkKey: ZoneKey?

    /// The user's role in its older form, in which an administrator reads as `.privateUser`.
    @available(*, deprecated, message: "Use participantRole.")
    public var participantType: CKShare.ParticipantType { CKShare.ParticipantType(participantRole) }

    /// The root record; for a whole zone, the share itself.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// Makes metadata from an answer.
    ///
    /// - Parameter link: the link of the request.
    /// - Throws: `CKError.participantMayNeedVerification` when the answer only says that a person
    ///   was invited by an address that may be the user's.
    init(
        _ dictionary: ShareMetadataDictionary, link: ShortGUIDDictionary, container: String,
        linkOrigin: String, linkKey: ZoneKey? = nil, encryptedKeys: EncryptedKeys = [:]
    ) throws {
        var reader = RecordReader(
            scope: dictionary.databaseScope ?? .shared, linkOrigin: linkOrigin,
            encryptedKeys: encryptedKeys)
        let zoneID = dictionary.zoneID.map { reader.zoneID($0) } ?? .default
        guard let record = dictionary.share else {
            throw Self.missingShare(dictionary.potentialMatches)
        }
        guard let share = try reader.record(record, in: zoneID) as? CKShare else {
            throw CKError(
                .internalError,
                "The service returned a record that is not a share for the link; update the service."
            )
        }
        share.state.withLock { $0.sharing?.linkKey = linkKey }
        self.share = share
        containerIdentifier = dictionary.containerIdentifier ?? container
        hierarchicalRootRecordID = dictionary.rootRecordName.map {
            CKRecordID(known: $0, zoneID: share.recordID.zoneID)
        }
        participantRole = CKShare.ParticipantRole(dictionary.participantRole ?? .unknown)
        participantStatus = CKShare.ParticipantAcceptanceStatus(
            dictionary.participantStatus ?? .unknown)
        participantPermission = CKShare.ParticipantPermission(
            dictionary.participantPermission ?? .unknown)
        ownerIdentity =
            dictionary.ownerIdentity.map { CKUserIdentity($0) } ?? share.owner.userIdentity
        rootRecord = try dictionary.rootRecord.map { try reader.record($0, in: zoneID) }
        self.link = link
        self.linkKey = linkKey
    }

    private static func missingShare(
        _ matches: [ShareMetadataDictionary.PotentialMatch]?
    ) -> CKError {
        guard let matches, !matches.isEmpty else {
            return CKError(
                .internalError,
                "The service returned the link without its share; try again, or update the service."
            )
        }
        return CKError(
            .participantMayNeedVerification,
            "The share invites an e-mail address or phone number that is not verified as yours; verify"
                + " it with the service.",
            details: [
                "InvitedAddresses": matches.compactMap { $0.emailAddress ?? $0.phoneNumber }
            ])
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return self === other
            || (containerIdentifier == other.containerIdentifier
                && share.recordID == other.share.recordID)
    }

    public override var hash: Int { share.recordID.hash }

    public override var description: String {
        "<CKShareMetadata: \(share.recordID), \(containerIdentifier)>"
    }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(containerIdentifier, "containerIdentifier")
        coder.archive(share, "share")
        coder.archive(hierarchicalRootRecordID, "hierarchicalRootRecordID")
        coder.encode(Int64(participantRole.rawValue), forKey: "participantRole")
        coder.encode(Int64(participantStatus.rawValue), forKey: "participantStatus")
        coder.encode(Int64(participantPermission.rawValue), forKey: "participantPermission")
        coder.archive(ownerIdentity, "ownerIdentity")
        coder.archive(rootRecord, "rootRecord")
        coder.archive(link.value, "shortGUID")
        coder.archive(link.oneTimeToken, "oneTimeToken")
        coder.archive(linkKey, "linkKey")
    }

    public init?(coder: NSCoder) {
        guard let containerIdentifier = coder.archivedString("containerIdentifier"),
            let share = coder.archivedObject(CKShare.self, "share"),
            let ownerIdentity = coder.archivedObject(CKUserIdentity.self, "ownerIdentity"),
            let shortGUID = coder.archivedString("shortGUID")
        else { return nil }
        self.containerIdentifier = containerIdentifier
        self.share = share
        self.ownerIdentity = ownerIdentity
        link = ShortGUIDDictionary(
            value: shortGUID, oneTimeToken: coder.archivedString("oneTimeToken"))
        linkKey = coder.archivedZoneKey("linkKey")
        hierarchicalRootRecordID = coder.archivedObject(
            CKRecordID.self, "hierarchicalRootRecordID")
        participantRole = coder.archivedWord("participantRole") ?? .unknown
        participantStatus = coder.archivedWord("participantStatus") ?? .unknown
        participantPermission = coder.archivedWord("participantPermission") ?? .unknown
        rootRecord = coder.archivedObject(CKRecord.self, "rootRecord")
    }
}

extension NSCoder {
    /// An enumeration value by its raw number; nil when the key is missing or the number is
    /// unknown.
    fileprivate func archivedWord<Word: RawRepresentable>(
        _ key: String
    ) -> Word? where Word.RawValue == Int {
        Int(exactly: decodeInt64(forKey: key)).flatMap { Word(rawValue: $0) }
    }
}

extension CKShare {
    /// The metadata of the share behind a link; see ``CKShareMetadata``.
    public typealias Metadata = CKShareMetadata
}
