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

    public var userIdentity: CKUserIdentity { CKUserIdentity(dictionary) }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity).map { $0.dictionary == dictionary } ?? false
    }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String { "<CKShareBlockedIdentity: \(userIdentity)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(wire: dictionary, "identity")
    }

    public convenience init?(coder: NSCoder) {
        guard let dictionary = coder.archived(UserIdentityDictionary.self, "identity") else {
            return nil
        }
        self.init(dictionary)
    }
}
