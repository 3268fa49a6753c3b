import Foundation
import StratusWire

/// How a person is looked up: by e-mail address, telephone number or user record.
/// `CKUserIdentity.LookupInfo` in code.
///
/// Compared by value without normalization: it is the key of results and of
/// `partialErrorsByItemID`.
public final class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The e-mail address to look up; nil if the lookup is by something else.
    public let emailAddress: String?
    /// The telephone number to look up; nil if the lookup is by something else.
    public let phoneNumber: String?
    /// The user record to look up; nil if the lookup is by something else.
    public let userRecordID: CKRecord.ID?

    /// Looks a person up by e-mail address; only a person who has verified the address is found.
    ///
    /// - Parameter emailAddress: 1 to 320 bytes; otherwise the lookup fails with
    ///   `CKError.invalidArguments`.
    public convenience init(emailAddress: String) {
        self.init(UserLookupInfo(emailAddress: emailAddress))
    }

    /// Looks a person up by telephone number.
    ///
    /// Stratus's service does not know telephone numbers, so the lookup finds no one.
    ///
    /// - Parameter phoneNumber: 1 to 320 bytes; otherwise the lookup fails with
    ///   `CKError.invalidArguments`.
    public convenience init(phoneNumber: String) {
        self.init(UserLookupInfo(phoneNumber: phoneNumber))
    }

    /// Looks a person up by user record.
    ///
    /// - Parameter userRecordID: only its record name counts; the zone is ignored.
    public convenience init(userRecordID: CKRecord.ID) {
        self.init(UserLookupInfo(userRecordName: userRecordID.recordName))
    }

    init(_ dictionary: UserLookupInfo) {
        emailAddress = dictionary.emailAddress
        phoneNumber = dictionary.phoneNumber
        userRecordID = dictionary.userRecordName.map { CKRecordID(known: $0) }
    }

    /// Makes a lookup for each e-mail address, in the same order.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Makes a lookup for each telephone number, in the same order.
    public class func lookupInfos(
        withPhoneNumbers phoneNumbers: [String]
    ) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Makes a lookup for each user record, in the same order.
    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    /// The lookup in the protocol's form.
    var dictionary: UserLookupInfo {
        UserLookupInfo(
            emailAddress: emailAddress, phoneNumber: phoneNumber,
            userRecordName: userRecordID?.recordName)
    }

    public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

    public override var hash: Int { dictionary.hashValue }

    public override var description: String {
        "<CKUserIdentityLookupInfo: "
            + (emailAddress ?? phoneNumber ?? userRecordID?.recordName ?? "none") + ">"
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { dictionary.archive(with: coder) }

    public convenience init?(coder: NSCoder) { self.init(archivedWith: coder) }
}

extension CKUserIdentityLookupInfo: WireObjectShowing {}

extension UserLookupInfo: ArchivedValue {
    func archive(with coder: NSCoder) {
        coder.archive(emailAddress, "emailAddress")
        coder.archive(phoneNumber, "phoneNumber")
        coder.archive(userRecordName, "userRecordName")
    }

    init?(archivedWith coder: NSCoder) {
        self.init(
            emailAddress: coder.archivedString("emailAddress"),
            phoneNumber: coder.archivedString("phoneNumber"),
            userRecordName: coder.archivedString("userRecordName"))
        if isEmpty { return nil }
    }
}
