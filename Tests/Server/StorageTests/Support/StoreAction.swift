import StratusRecords
import StratusStorage

/// One call of a store, with its arguments. Zones are given by name, since each store has its own keys.
enum StoreAction: Sendable {
    struct Reference: Sendable {
        var zone: String
        var target: String
        var action: ReferenceRow.Action
        var holder: String
    }

    struct Save: Sendable {
        var names: [String]
        var zone: String
        var isDeleted: Bool
        var device: String
        var parent: String?
        var shareRoot: String?
        var modifiedMilliseconds: Int64
        var keepsAncestors: Bool
    }

    // Zones and records
    case createZone(String, hasFeed: Bool)
    case deleteZone(String, ZoneRow.Deletion)
    case takeVersions(Int, zone: String)
    case purge(through: Int64, zone: String)
    case save(Save)
    // Data derived from records
    case deleteAncestor(Int64, zone: String)
    case deleteAncestors(through: Int64, zone: String)
    case putReference(Reference)
    case deleteReference(Reference)
    case deleteReferences(holder: String, zone: String)
    case createIndex(type: String, field: String)
    case updateIndex(IndexRow.Key, progress: String, zone: String)
    case deleteIndex(IndexRow.Key)
    case putEntry(IndexEntry, IndexRow.Key, zone: String)
    case deleteEntry(IndexEntry, IndexRow.Key, zone: String)
    case admitAsset([UInt8], bytes: Int, moment: Int64)
    case setAssets(Set<[UInt8]>, record: String, zone: String)
    case touchAssets(moment: Int64)
    case takeAssets(before: Int64)
    // Shares
    case putShare(String, root: String?, users: Set<String>, zone: String)
    case deleteShare(String, zone: String)
    case leaveView(String, root: String, zone: String)
    case returnToView(String, root: String, zone: String)
    case putSharedZone(owner: String, name: String, isDeleted: Bool)
    // Devices
    case subscribe(user: String, identifier: String, body: [UInt8])
    case unsubscribe(user: String, identifier: String)
    case keepOutcome(OperationKey, [UInt8], expires: Int64)
    case expireOutcomes(Int64)
    case enqueue([UInt8])
    case dequeue(through: Int64)
    // Reads
    case records([String], zone: String)
    case recordsByName(zone: String, after: String, limit: Int, payloadBytes: Int)
    case scan(type: String, zone: String, after: String?)
    case zones(after: Int64, limit: Int)
    case changes(zone: String, ChangeCursor, limit: Int, payloadBytes: Int)
    case oldTombstones(before: Int64, zone: String, limit: Int)
    case holders(target: String, zone: String, limit: Int)
    case ancestor(Int64, zone: String)
    case asset([UInt8])
    case entries(IndexRow.Key, zone: String, between: IndexEntry, IndexEntry, limit: Int)
    case family(of: String, zone: String, limit: Int)
    case share(String, zone: String, user: String)
    case sharedZones(after: Int64, limit: Int, owner: String)
    case sharedChanges(
        zone: String, roots: [String], ChangeCursor, limit: Int, payloadBytes: Int)
    case readAll

    var isReading: Bool {
        switch self {
        case .records, .recordsByName, .scan, .zones, .changes, .oldTombstones, .holders,
            .ancestor, .asset, .entries, .family, .share, .sharedZones, .sharedChanges, .readAll:
            true
        default: false
        }
    }
}

extension StoreReader {
    /// The key of a zone; an unused key if there is no such zone.
    func key(of zone: String) throws -> ZoneRow.Key {
        try self.zone(named: zone)?.key ?? ZoneRow.Key(rawValue: 999)
    }
}
