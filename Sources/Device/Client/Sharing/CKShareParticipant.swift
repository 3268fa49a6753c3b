import Foundation
import StratusWire
import Synchronization

/// A participant of a share. `CKShare.Participant` in code.
///
/// Get participants from `CKContainer.shareParticipant(forEmailAddress:)` and similar methods, or
/// from a share. Set ``permission``, add the participant to a share and save the share:
///
/// ```swift
/// let bo = try await container.shareParticipant(forEmailAddress: "bo@example.org")
/// bo.permission = .readWrite
/// share.addParticipant(bo)
/// ```
///
/// Participants are equal if they are the same person, regardless of their permissions.
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// Identifies a participant within a share; see ``participantID``.
    public typealias ID = String

    private let state: Mutex<ParticipantDictionary>

    init(_ dictionary: ParticipantDictionary) {
        state = Mutex(dictionary)
    }

    /// Makes a participant for the first person who opens a link; see `CKShare.oneTimeURL(for:)`.
    ///
    /// Add it to a share, save the share, and send the link to one person. Only Stratus's service
    /// accepts such participants over the protocol.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        CKShareParticipant(oneTimeToken: UUID().uuidString)
    }

    /// - Parameter oneTimeToken: the secret in the link; must be unguessable.
    convenience init(oneTimeToken: String, participantID: String = UUID().uuidString) {
        var identity = UserIdentityDictionary(userRecordName: nil)
        identity.lookupInfo = UserLookupInfo(oneTimeToken: oneTimeToken)
        self.init(
            ParticipantDictionary(
                participantID: participantID, userIdentity: identity, permission: .readOnly))
    }

    /// The participant in the protocol's form.
    var dictionary: ParticipantDictionary { state.withLock { $0 } }

    /// Identifies the participant within the share; the service replaces it when the share is
    /// saved.
    public var participantID: ID { dictionary.participantID ?? "" }

    /// Who the participant is, as far as the user may know it.
    public var userIdentity: CKUserIdentity { CKUserIdentity(dictionary.userIdentity) }

    /// The role, `.privateUser` by default; only the owner of a share can appoint administrators.
    public var role: CKShare.ParticipantRole {
        get { CKShare.ParticipantRole(dictionary.role) }
        set { state.withLock { $0.role = newValue.word } }
    }

    /// The role in its older form, in which an administrator reads as `.privateUser`.
    @available(*, deprecated, renamed: "role")
    public var type: CKShare.ParticipantType {
        get { CKShare.ParticipantType(role) }
        set { role = newValue.role }
    }

    /// The acceptance status, `.pending` until the person joins by the link.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(dictionary.status)
    }

    /// The permission, `.readOnly` by default; a change takes effect when the share is saved.
    public var permission: CKShare.ParticipantPermission {
        get { CKShare.ParticipantPermission(dictionary.permission) }
        set { state.withLock { $0.permission = newValue.word } }
    }

    /// Whether the person requested access, and the owner or an administrator approved it.
    public var isApprovedRequester: Bool { dictionary.isApprovedRequester }

    /// When the person was invited, or joined a public share; nil before the share is saved.
    public var dateAddedToShare: Date? {
        dictionary.dateAddedMilliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// Adopts the service's answer to a save, but keeps changes made since the request was built.
    func confirm(_ server: ParticipantDictionary, sent: ParticipantDictionary?) {
        state.withLock { own in
            let set = own
            own = server
            if set != sent {
                own.permission = set.permission
                own.role = set.role
            }
        }
    }

    /// Adopts the role and permission that an app sets for an existing participant.
    func update(from other: ParticipantDictionary) {
        state.withLock { own in
            own.permission = other.permission
            own.role = other.role
        }
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareParticipant else { return false }
        return self === other || dictionary.isSamePerson(as: other.dictionary)
    }

    /// The same for all participants, because one person may have different identifiers; a share
    /// has few participants.
    public override var hash: Int { 0 }

    public override var description: String {
        "<CKShareParticipant: \(participantID), \(role), \(acceptanceStatus), \(permission)>"
    }

    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(dictionary) }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { dictionary.archive(with: coder) }

    public convenience init?(coder: NSCoder) { self.init(archivedWith: coder) }
}

extension CKShareParticipant: WireObjectShowing {}

extension ParticipantDictionary: ArchivedWireValue {
    static var archiveKey: String { "participant" }

    /// Whether both are one person: by identifier, user record or address.
    func isSamePerson(as other: ParticipantDictionary) -> Bool {
        if role == .owner || other.role == .owner { return role == other.role }
        if let participantID, participantID == other.participantID { return true }
        let (own, others) = (userIdentity, other.userIdentity)
        if let name = own.userRecordName ?? own.lookupUserRecordName,
            name == others.userRecordName ?? others.lookupUserRecordName
        {
            return true
        }
        if let address = own.emailAddress, address == others.emailAddress { return true }
        if let token = own.lookupInfo?.oneTimeToken, token == others.lookupInfo?.oneTimeToken {
            return true
        }
        return own.phoneNumber.map { $0 == others.phoneNumber } ?? false
    }
}
