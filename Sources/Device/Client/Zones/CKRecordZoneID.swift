import Foundation
import StratusRecords

/// Stands for the record name of the user who is signed in.
public let CKCurrentUserDefaultName = ZoneID.currentUserName

/// The older name of ``CKCurrentUserDefaultName``.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = ZoneID.currentUserName

/// The ID of a zone: its name and its owner. `CKRecordZone.ID` in code.
///
/// Compared by value. A top-level class because Foundation on Linux cannot archive nested classes.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the default zone: `_defaultZone`.
    public static let defaultZoneName = ZoneID.defaultZoneName
    /// The default zone of the user's private database, or of the public database.
    public static let `default` = CKRecordZoneID()

    /// The name: 1 to 255 ASCII characters without a leading underscore, except for the default
    /// zone.
    public let zoneName: String
    /// The owner's record name, or `CKCurrentUserDefaultName`.
    public let ownerName: String

    /// - Parameter zoneName: 1 to 255 ASCII characters without a leading underscore; another name
    ///   is refused when the zone is saved, with `CKError.invalidArguments`.
    /// - Parameter ownerName: a record name; the user's own zones unless given.
    /// - Precondition: the zone's name is not empty.
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName,
        ownerName: String = CKCurrentUserDefaultName
    ) {
        precondition(!zoneName.isEmpty, "The zone's name is empty; give it 1 to 255 characters.")
        self.init(known: zoneName, ownerName: ownerName)
    }

    /// Makes an ID from the service or an archive, without checking its names.
    package init(known zoneName: String, ownerName: String) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    @available(*, deprecated, message: "Give an owner name that is not optional.")
    @_disfavoredOverload
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String?
    ) {
        self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return self === other || (zoneName == other.zoneName && ownerName == other.ownerName)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    public override var description: String {
        "<CKRecordZoneID: \(zoneName):\(ownerName)>"
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(zoneName, "zoneName")
        coder.archive(ownerName, "ownerName")
    }

    public init?(coder: NSCoder) {
        guard let zoneName = coder.archivedString("zoneName"),
            let ownerName = coder.archivedString("ownerName")
        else { return nil }
        self.zoneName = zoneName
        self.ownerName = ownerName
    }
}
