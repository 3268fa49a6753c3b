import Foundation
import StratusWire
import Synchronization

/// A person's part in a share. `CKShare.Participant` in code.
///
/// Participants come from `CKContainer.shareParticipant(forEmailAddress:)` and its like, or from a
/// share. Set ``permission``, add the participant to a share and save the share:
///
/// ```swift
/// let bo = try await container.shareParticipant(forEmailAddress: "bo@example.org")
/// bo.permission = .readWrite
/// share.addParticipant(bo)
/// ```
///
/// Equal are participants that are the same person, whatever they may do.
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
    public typealias ID = String

    private let state: Mutex<ParticipantDictionary>

    init(_ dictionary: ParticipantDictionary) {
        state = Mutex(dictionary)
    }

    /// Makes a participant who is whoever opens a link first, see `CKShare.oneTimeURL(for:)`.
    ///
    /// Add it to a share, save the share, and send the link to one person. Stratus's service alone
    /// takes such participants over the protocol.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        CKShareParticipant(oneTimeToken: UUID().uuidString)
    }

    /// - Parameter oneTimeToken: what the link says; not to be guessed.
    convenience init(oneTimeToken: String, participantID: String = UUID().uuidString) {
        var identity = UserIdentityDictionary(userRecordName: nil)
        identity.lookupInfo = UserLookupInfo(oneTimeToken: oneTimeToken)
        self.init(
            ParticipantDictionary(
                participantID: participantID, userIdentity: identity, permission: .readOnly))
    }

    /// The participant as the protocol has it.
    var dictionary: ParticipantDictionary { state.withLock { $0 } }

    /// Names the participant within the share; the service gives another one when it is saved.
    public var participantID: ID { dictionary.participantID ?? "" }

    public var userIdentity: CKUserIdentity { CKUserIdentity(dictionary.userIdentity) }

    /// `.privateUser` unless set; the owner of a share may make administrators.
    public var role: CKShare.ParticipantRole {
        get { CKShare.ParticipantRole(dictionary.role) }
        set { state.withLock { $0.role = newValue.word } }
    }

    @available(*, deprecated, renamed: "role")
    public var type: CKShare.ParticipantType {
        get { CKShare.ParticipantType(role) }
        set { role = newValue.role }
    }

    /// `.pending` until the person follows the link.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(dictionary.status)
    }

    /// `.readOnly` unless set; takes effect when the share is saved.
    public var permission: CKShare.ParticipantPermission {
        get { CKShare.ParticipantPermission(dictionary.permission) }
        set { state.withLock { $0.permission = newValue.word } }
    }

    /// Whether the person had asked for access, and the owner or an administrator let him in.
    public var isApprovedRequester: Bool { dictionary.isApprovedRequester }

    /// When the person was invited, or joined a public share; nil before the share is saved.
    public var dateAddedToShare: Date? {
        dictionary.dateAddedMilliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// Takes over what the service answered to a save, but keeps what was set meanwhile.
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

    /// Takes over what an app says of a person who takes part already.
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

    /// The same for all: the same person may be known by different names, and a share has a hundred
    /// participants at the most.
    public override var hash: Int { 0 }

    public override var description: String {
        "<CKShareParticipant: \(participantID), \(role), \(acceptanceStatus), \(permission)>"
    }

    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(dictionary) }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(wire: dictionary, "participant")
    }

    public convenience init?(coder: NSCoder) {
        guard let dictionary = coder.archived(ParticipantDictionary.self, "participant") else {
            return nil
        }
        self.init(dictionary)
    }
}

extension ParticipantDictionary {
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
