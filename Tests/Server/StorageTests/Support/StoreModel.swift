import StratusRecords
import StratusStorage

/// The contract of a record store, implemented as simply as possible: lists and filters.
///
/// The oracle of ``ModelTests``. It shares no code with the product and has no index and no SQL; if both
/// disagree, one of them is wrong.
struct StoreModel {
    /// A defect that the model can be given, to check that the comparison finds it.
    enum Defect: CaseIterable {
        case deletedZoneKeepsReferences
        case deletedZoneKeepsIndexEntries
        case deletedZoneHoldsAssets
        case deletedShareKeepsEvents
        case sharedViewSkipsEvents
        case purgeKeepsHorizon
        case purgeKeepsShareEvents
        case tombstonesCountAsBytes
        case ancestorsAreDeletedBelowTheVersion
        case outboxNumbersAreReused
        case pageEndsInsideARequest
        case assetIsTouchedWhenReleased
    }

    struct Entry: Hashable {
        var index: IndexRow.Key
        var zone: ZoneRow.Key
        var entry: IndexEntry
    }

    struct Hold: Hashable {
        var zone: ZoneRow.Key
        var record: String
        var sha256: [UInt8]
    }

    struct Access: Hashable {
        var zone: ZoneRow.Key
        var row: ShareAccessRow
    }

    struct Outcome {
        var key: OperationKey
        var bytes: [UInt8]
        var expires: Int64
    }

    var defect: Defect?
    /// The database's epochs, which have no zone, and the zones', oldest first.
    var epochs: [(zone: ZoneRow.Key?, row: EpochRow)]
    /// Whether the store has written: its first write begins an epoch.
    var isWritten = false
    var databaseVersion: Int64 = 1
    /// A zone's key is its place, counted from 1.
    var zones: [ZoneRow] = [
        ZoneRow(
            key: .init(rawValue: 1), name: "_defaultZone", generation: 1, version: 0,
            purgeHorizon: 0, hasFeed: false, changedAtDatabaseVersion: 1, deletion: nil)
    ]
    var records: [RecordRow] = []
    var ancestors: [AncestorRow] = []
    var references: Set<ReferenceRow> = []
    var indexRows: [IndexRow] = []
    var lastIndex: Int64 = 0
    var indexEntries: Set<Entry> = []
    var assets: [AssetRow] = []
    var holds: Set<Hold> = []
    var shareRows: [ShareRow] = []
    var accessRows: Set<Access> = []
    var shareEvents: [ShareEventRow] = []
    var sharedZoneRows: [SharedZoneRow] = []
    var subscriptionRows: [SubscriptionRow] = []
    var outcomes: [Outcome] = []
    var outboxRows: [OutboxRow] = []
    var lastOutbox: Int64 = 0
    var longChangeRows: [LongChangeRow] = []

    init(epoch: Epoch, defect: Defect? = nil) {
        epochs = [(nil, EpochRow(epoch: epoch, startVersion: 0, startedMilliseconds: 0))]
        self.defect = defect
    }

    /// Runs `body` on a copy, which replaces the model if `body` does not throw.
    mutating func write<Outcome>(
        _ body: (any RecordTransaction) throws -> Outcome
    ) throws -> Outcome {
        let transaction = ModelTransaction(self)
        let outcome = try body(transaction)
        self = transaction.model
        return outcome
    }
}

/// A transaction on a copy of the model.
final class ModelTransaction: RecordTransaction {
    var model: StoreModel

    init(_ model: StoreModel) {
        self.model = model
    }

    var databaseVersion: Int64 { model.databaseVersion }

    func takeDatabaseVersion() -> Int64 {
        beginFirstEpoch()
        model.databaseVersion += 1
        return model.databaseVersion
    }

    // MARK: Zones

    func zones() -> [ZoneRow] {
        model.zones.filter { $0.deletion == nil }.sorted(by: \.name)
    }

    func zoneCount() -> Int { model.zones.count }

    func zone(named name: String) -> ZoneRow? { model.zones.first { $0.name == name } }

    func zone(_ key: ZoneRow.Key) throws -> ZoneRow {
        guard let zone = model.zones.first(where: { $0.key == key }) else { throw refusal }
        return zone
    }

    func zones(
        changedAfter databaseVersion: Int64, deletedAfter deletionVersion: Int64, limit: Int
    ) -> [ZoneRow] {
        let changed = model.zones.filter { zone in
            zone.changedAtDatabaseVersion > databaseVersion
                && (zone.deletion == nil || zone.changedAtDatabaseVersion > deletionVersion)
        }
        return Array(
            changed
                .sorted { $0.changedAtDatabaseVersion < $1.changedAtDatabaseVersion }
                .prefix(max(limit, 1)))
    }

    func createZone(
        named name: String, hasFeed: Bool, encryptionScope: ZoneEncryptionScope
    ) -> ZoneRow {
        var row =
            zone(named: name)
            ?? ZoneRow(
                key: .init(rawValue: Int64(model.zones.count) + 1), name: name, generation: 0,
                version: 0, purgeHorizon: 0, hasFeed: hasFeed, changedAtDatabaseVersion: 0,
                deletion: .deleted)
        guard row.deletion != nil else { return row }
        row.generation += 1
        row.deletion = nil
        row.hasFeed = hasFeed
        row.encryptionScope = encryptionScope
        row.changedAtDatabaseVersion = takeDatabaseVersion()
        model.zones.removeAll { $0.key == row.key }
        model.zones.append(row)
        return row
    }

    /// Changes a zone that is not deleted, and marks it as changed.
    func change(_ key: ZoneRow.Key, _ body: (inout ZoneRow) -> Void) throws {
        guard let index = model.zones.firstIndex(where: { $0.key == key && $0.deletion == nil })
        else { throw refusal }
        body(&model.zones[index])
        model.zones[index].changedAtDatabaseVersion = takeDatabaseVersion()
    }

    func deleteZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        try change(zone) { $0.deletion = reason }
        model.records.removeAll { $0.zone == zone }
        model.ancestors.removeAll { $0.zone == zone }
        if model.defect != .deletedZoneKeepsReferences {
            model.references = model.references.filter { $0.zone != zone }
        }
        if model.defect != .deletedZoneKeepsIndexEntries {
            model.indexEntries = model.indexEntries.filter { $0.zone != zone }
        }
        if model.defect != .deletedZoneHoldsAssets {
            for hold in model.holds where hold.zone == zone { try release(hold) }
        }
        model.shareRows.removeAll { $0.zone == zone }
        model.accessRows = model.accessRows.filter { $0.zone != zone }
        model.shareEvents.removeAll { $0.zone == zone }
        model.longChangeRows.removeAll { $0.zone == zone }
    }

    func takeVersions(_ count: Int, in zone: ZoneRow.Key) throws -> ClosedRange<Int64> {
        guard count > 0 else { throw refusal }
        try change(zone) { $0.version += Int64(count) }
        let last = try self.zone(zone).version
        noteEpoch(of: zone, from: last - Int64(count))
        return last - Int64(count) + 1...last
    }

    func purgeTombstones(through version: Int64, in zone: ZoneRow.Key) -> Int {
        let before = model.records.count
        model.records.removeAll { $0.zone == zone && $0.isDeleted && $0.version <= version }
        if model.defect != .purgeKeepsShareEvents {
            model.shareEvents.removeAll { $0.zone == zone && $0.version <= version }
        }
        if let index = model.zones.firstIndex(where: { $0.key == zone }),
            model.defect != .purgeKeepsHorizon
        {
            let reached = min(version, model.zones[index].version)
            model.zones[index].purgeHorizon = max(model.zones[index].purgeHorizon, reached)
        }
        return before - model.records.count
    }

    /// The error that a store throws; only its code is compared.
    var refusal: StorageError { StorageError(.other, "") }
}

extension Sequence {
    /// Sorts by a text, in the order of its bytes.
    func sorted(by text: (Element) -> String) -> [Element] {
        sorted { text($0).utf8.lexicographicallyPrecedes(text($1).utf8) }
    }
}
