import Foundation
import StratusWire

/// A zone of a database: the unit of atomic saves, of change feeds and of sharing.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    public typealias ID = CKRecordZoneID

    /// What a zone can do; known only of zones that were saved or fetched.
    public struct Capabilities: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let fetchChanges = Self(rawValue: 1 << 0)
        public static let atomic = Self(rawValue: 1 << 1)
        public static let sharing = Self(rawValue: 1 << 2)
        public static let zoneWideSharing = Self(rawValue: 1 << 3)
    }

    public let zoneID: CKRecordZone.ID

    /// Empty on a zone that was made locally.
    public let capabilities: Capabilities

    /// The share of the whole zone; only on zones that were fetched.
    public let share: CKRecord.Reference?

    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZoneID(zoneName: zoneName))
    }

    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [])
    }

    init(
        zoneID: CKRecordZone.ID, capabilities: Capabilities, share: CKRecord.Reference? = nil
    ) {
        self.zoneID = zoneID
        self.share = share
        self.capabilities = capabilities
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZone).map { $0.zoneID == zoneID } ?? false
    }

    public override var hash: Int { zoneID.hash }

    public override var description: String { "<CKRecordZone: \(zoneID)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(zoneID, "zoneID")
        coder.encode(Int64(truncatingIfNeeded: capabilities.rawValue), forKey: "capabilities")
        coder.archive(share, "share")
    }

    public init?(coder: NSCoder) {
        guard let zoneID = coder.archivedObject(CKRecordZoneID.self, "zoneID") else { return nil }
        self.zoneID = zoneID
        share = coder.archivedObject(CKReference.self, "share")
        capabilities = Capabilities(
            rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "capabilities")))
    }
}

@available(*, deprecated, renamed: "CKRecordZone.Capabilities")
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
@available(*, deprecated, renamed: "CKRecordZone.ID.defaultZoneName")
public let CKRecordZoneDefaultName = CKRecordZoneID.defaultZoneName
