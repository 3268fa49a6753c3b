/// The name of a zone and of the user who owns it.
public struct ZoneID: Hashable, Sendable {
    /// The zone that every public and private database has from the beginning.
    public static let defaultZoneName = "_defaultZone"

    /// `CKCurrentUserDefaultName`: stands for the record name of the current user.
    public static let currentUserName = "__defaultOwner__"

    /// The name of the zone, unique among the zones of its owner; see ``Names/isZoneName(_:)``.
    public var name: String

    /// The record name of the owner, or ``currentUserName``.
    public var ownerName: String

    /// Makes the ID of a zone; by default that of the current user's default zone.
    public init(name: String = Self.defaultZoneName, ownerName: String = Self.currentUserName) {
        self.name = name
        self.ownerName = ownerName
    }

    /// Whether it is the default zone of its owner.
    public var isDefault: Bool { name == Self.defaultZoneName }
}

extension Sequence<ZoneID> {
    /// The zones by name and owner, for sets and dictionaries whose order would become an order of requests.
    package var inOrder: [ZoneID] {
        sorted { ($0.name, $0.ownerName) < ($1.name, $1.ownerName) }
    }
}

/// The identity of a record: its name, unique within its zone.
///
/// ```swift
/// let hut = RecordID(name: "hut-3", zoneID: ZoneID(name: "Trips"))
/// ```
public struct RecordID: Hashable, Sendable {
    /// The name of the record, unique in its zone; see ``Names/isRecordName(_:)``.
    public var name: String
    /// The zone that the record is in.
    public var zoneID: ZoneID

    /// Makes the ID of a record, by default in the current user's default zone.
    public init(name: String, zoneID: ZoneID = ZoneID()) {
        self.name = name
        self.zoneID = zoneID
    }
}

/// The rules for names. Sources: `CKRecord.ID.init(recordName:)`, `CKRecordZone.init(zoneName:)`
/// and "Integrating a Text-Based Schema into Your Workflow" in Apple's documentation.
public enum Names {
    /// Whether a record may be saved under this name: 1 to 255 printable ASCII characters, no leading underscore.
    public static func isRecordName(_ name: String) -> Bool {
        isASCIIName(name) && !name.hasPrefix("_")
    }

    /// Whether a custom zone may have this name; the rule is that of record names.
    public static func isZoneName(_ name: String) -> Bool {
        isRecordName(name)
    }

    /// Whether a record type, field or role may have this name: an ASCII letter, then letters, digits and underscores,
    /// 255 at most.
    public static func isIdentifier(_ name: some StringProtocol) -> Bool {
        let utf8 = name.utf8
        guard let first = utf8.first, utf8.count <= 255, isLetter(first) else { return false }
        return utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    private static func isASCIIName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
