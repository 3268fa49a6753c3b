import Foundation

/// The ID of a record: its zone and its name, which is unique in the zone. `CKRecord.ID` in code.
///
/// Compared by value.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name: 1 to 255 ASCII characters without a leading underscore, except for the service's
    /// own records.
    public let recordName: String
    /// The zone that the record is in.
    public let zoneID: CKRecordZone.ID

    /// - Parameter recordName: 1 to 255 ASCII characters without a leading underscore; another name
    ///   is refused when the record is saved, with `CKError.invalidArguments`.
    /// - Parameter zoneID: the default zone unless given.
    /// - Precondition: the name is not empty.
    public convenience init(
        recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default
    ) {
        precondition(
            !recordName.isEmpty,
            "The record's name is empty; give it 1 to 255 characters.")
        self.init(known: recordName, zoneID: zoneID)
    }

    /// Makes an ID from the service or an archive, without checking its name.
    package init(known recordName: String, zoneID: CKRecordZone.ID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return self === other || (recordName == other.recordName && zoneID == other.zoneID)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID.zoneName)
        return hasher.finalize()
    }

    public override var description: String {
        "<CKRecordID: \(recordName):(\(zoneID.zoneName):\(zoneID.ownerName))>"
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(recordName, "recordName")
        coder.archive(zoneID, "zoneID")
    }

    public init?(coder: NSCoder) {
        guard let recordName = coder.archivedString("recordName"),
            let zoneID = coder.archivedObject(CKRecordZoneID.self, "zoneID")
        else { return nil }
        self.recordName = recordName
        self.zoneID = zoneID
    }
}
