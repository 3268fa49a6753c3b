import Foundation
import StratusWire

/// A person, as far as this app may know one.
///
/// Names and the user record are nil where the person did not agree to be found, and of people who
/// have no account: the service tells nobody which of both it is.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The identity as the protocol has it.
    let dictionary: UserIdentityDictionary

    init(_ dictionary: UserIdentityDictionary) {
        self.dictionary = dictionary
    }

    /// By what the person was looked up or invited; others than the owner of a share do not see it.
    public var lookupInfo: LookupInfo? {
        guard var info = dictionary.lookupInfo else { return nil }
        info.oneTimeToken = nil
        return info.isEmpty ? nil : CKUserIdentityLookupInfo(info)
    }

    public var nameComponents: PersonNameComponents? {
        guard dictionary.givenName != nil || dictionary.familyName != nil else { return nil }
        var components = PersonNameComponents()
        components.givenName = dictionary.givenName
        components.familyName = dictionary.familyName
        return components
    }

    public var userRecordID: CKRecord.ID? {
        dictionary.userRecordName.map { CKRecordID(known: $0) }
    }

    /// Whether the person is known to have an account.
    public var hasiCloudAccount: Bool { dictionary.userRecordName != nil }

    /// Always empty: there is no address book.
    @available(*, deprecated, message: "There are no contacts.")
    public var contactIdentifiers: [String] { [] }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentity).map { $0.dictionary == dictionary } ?? false
    }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String {
        let names = [dictionary.givenName, dictionary.familyName].compactMap { $0 }
        return "<CKUserIdentity: \(dictionary.userRecordName ?? "unknown") "
            + "\(names.joined(separator: " "))>"
    }

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

extension NSCoder {
    /// Writes a value as the protocol has it.
    func archive(wire value: some WireWritable, _ key: String) {
        encode(Data(wireBytes(of: value)) as NSData, forKey: key)
    }

    /// A value that the protocol has; nil when the key is missing or damaged.
    func archived<Value: WireReadable>(_ type: Value.Type, _ key: String) -> Value? {
        guard let data = archivedData(key) else { return nil }
        // A damaged archive is told as nil, like every other one.
        return try? readWire(type, from: [UInt8](data))
    }
}
