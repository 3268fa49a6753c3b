import Foundation
import StratusWire

/// A person who may not request access to a share. `CKShare.BlockedIdentity` in code.
///
/// `contact` is absent: it needs Apple's Contacts.
public final class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The person in the protocol's form.
    let dictionary: UserIdentityDictionary

    init(_ dictionary: UserIdentityDictionary) {
        self.dictionary = dictionary
    }

    public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String { "<CKShareBlockedIdentity: \(userIdentity)>" }

    /// The identity of the person, as it was in their request.
    public var userIdentity: CKUserIdentity { CKUserIdentity(dictionary) }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { dictionary.archive(with: coder) }

    public convenience init?(coder: NSCoder) { self.init(archivedWith: coder) }
}

extension CKShareBlockedIdentity: WireObjectShowing {}
