import Foundation
import StratusWire

/// A person who requests access to a share. `CKShare.AccessRequester` in code.
///
/// A request shows the owner and administrators of the share the name of the person's account, and
/// its e-mail address if that is verified. `contact` is absent: it needs Apple's Contacts.
public final class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The person in the protocol's form.
    let dictionary: UserIdentityDictionary

    init(_ dictionary: UserIdentityDictionary) {
        self.dictionary = dictionary
    }

    /// The person's user record and, as far as their account has them, name and verified e-mail
    /// address.
    public var userIdentity: CKUserIdentity { CKUserIdentity(dictionary) }

    /// The lookup for `CKFetchShareParticipantsOperation`; add its participant to the share to
    /// approve the request.
    public var participantLookupInfo: CKUserIdentity.LookupInfo {
        var info = dictionary.lookupInfo ?? UserLookupInfo()
        info.oneTimeToken = nil
        if info.isEmpty { info.userRecordName = dictionary.userRecordName }
        return CKUserIdentityLookupInfo(info)
    }

    public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String { "<CKShareAccessRequester: \(userIdentity)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { dictionary.archive(with: coder) }

    public convenience init?(coder: NSCoder) { self.init(archivedWith: coder) }
}

extension CKShareAccessRequester: WireObjectShowing {}
