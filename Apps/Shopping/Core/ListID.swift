import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// Identifies a list by its zone and owner, so that lists of different people cannot be confused.
public struct ListID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier that the list got when it was made: its root record's name, and its journal's.
    public let name: String
    /// The record name of the list's owner; nil for the user's own list.
    public let ownerName: String?

    public init(_ name: String, ownerName: String? = nil) {
        self.name = name
        self.ownerName = ownerName
    }

    /// The list in a zone; nil for a zone that holds no list.
    public init?(_ zoneID: CKRecordZone.ID) {
        guard let name = ShoppingRecord.listID(zoneName: zoneID.zoneName) else { return nil }
        self.name = name
        ownerName = zoneID.ownerName == CKCurrentUserDefaultName ? nil : zoneID.ownerName
    }

    public var isOwn: Bool { ownerName == nil }

    /// Own lists are in the private database, those of others are in the shared one.
    public var scope: CKDatabase.Scope { isOwn ? .private : .shared }

    public var zoneID: CKRecordZone.ID {
        CKRecordZone.ID(
            zoneName: ShoppingRecord.zoneName(listID: name),
            ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    /// The root record has the list's name.
    public var rootID: CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    // MARK: As text

    private static let mark: Character = "\u{1F}"

    /// The identifier as one word: for an own list its name, as it was before lists could be shared.
    public var description: String {
        ownerName.map { "\(name)\(Self.mark)\($0)" } ?? name
    }

    /// Reads ``description`` back.
    public init(text: String) {
        let parts = text.split(separator: Self.mark, maxSplits: 1)
        self.init(String(parts.first ?? ""), ownerName: parts.count > 1 ? String(parts[1]) : nil)
    }
}
