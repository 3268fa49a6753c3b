import Foundation
import StratusWire

/// The identity of a person, with what the app may know about them.
///
/// Name and user record are nil if the person did not agree to be found or has no account: the
/// service does not reveal which.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// How a person is looked up; see ``CKUserIdentityLookupInfo``.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The identity in the protocol's form.
    let dictionary: UserIdentityDictionary

    init(_ dictionary: UserIdentityDictionary) {
        self.dictionary = dictionary
    }

    /// How the person was looked up or invited; the owner and the administrators of a share see it
    /// for all participants, others only for themselves.
    public var lookupInfo: LookupInfo? {
        guard var info = dictionary.lookupInfo else { return nil }
        info.oneTimeToken = nil
        return info.isEmpty ? nil : CKUserIdentityLookupInfo(info)
    }

    /// The person's given and family name; nil if the app may not know them or the account has
    /// none.
    public var nameComponents: PersonNameComponents? {
        guard dictionary.givenName != nil || dictionary.familyName != nil else { return nil }
        var components = PersonNameComponents()
        components.givenName = dictionary.givenName
        components.familyName = dictionary.familyName
        return components
    }

    /// The person's user record; nil if the app may not know it or there is no account.
    public var userRecordID: CKRecord.ID? {
        dictionary.userRecordName.map { CKRecordID(known: $0) }
    }

    /// Whether the person is known to have an account.
    public var hasiCloudAccount: Bool { dictionary.userRecordName != nil }

    /// Always empty, because there is no address book.
    @available(*, deprecated, message: "There are no contacts.")
    public var contactIdentifiers: [String] { [] }

    public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String {
        let names = [dictionary.givenName, dictionary.familyName].compactMap { $0 }
        return "<CKUserIdentity: \(dictionary.userRecordName ?? "unknown") "
            + "\(names.joined(separator: " "))>"
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { dictionary.archive(with: coder) }

    public convenience init?(coder: NSCoder) { self.init(archivedWith: coder) }
}

extension UserIdentityDictionary: ArchivedWireValue {
    static var archiveKey: String { "identity" }
}

extension CKUserIdentity: WireObjectShowing {}
