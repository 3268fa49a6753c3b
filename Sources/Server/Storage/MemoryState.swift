import HashTreeCollections

/// All of a database in memory. Its trees share what a copy does not change.
struct MemoryState: Sendable {
    struct Zone: Sendable {
        var row: ZoneRow
        var records: TreeDictionary<String, RecordRow> = [:]
        /// Which record took which version, where that is still its newest.
        var names: TreeDictionary<Int64, String> = [:]
        var recordBytes: Int64 = 0
        var sharing = Sharing()
        var entries: TreeDictionary<IndexRow.Key, SortedEntries> = [:]
        /// Who refers to whom, by the target.
        var holders: TreeDictionary<ReferenceKey, TreeSet<String>> = [:]
        /// Replaced states of records by the version of the change that replaced them …
        var ancestors: TreeDictionary<Int64, AncestorRow> = [:]
        /// … of which none is below this one.
        var firstAncestor: Int64 = 0
    }

    struct ReferenceKey: Hashable, Sendable {
        var target: String
        var action: ReferenceRow.Action
    }

    struct Outcome: Sendable {
        var bytes: [UInt8]
        var expiresMilliseconds: Int64
    }

    struct SubscriptionKey: Hashable, Sendable {
        var user: String
        var identifier: String
    }

    var incarnation: Incarnation
    var databaseVersion: Int64 = 0
    var zones: TreeDictionary<ZoneRow.Key, Zone> = [:]
    var zoneKeys: TreeDictionary<String, ZoneRow.Key> = [:]
    var indexes: TreeDictionary<IndexRow.Key, IndexRow> = [:]
    /// The highest key that an index was given.
    var lastIndex: Int64 = 0
    var subscriptions: TreeDictionary<SubscriptionKey, SubscriptionRow> = [:]
    var outcomes: TreeDictionary<OperationKey, Outcome> = [:]
    var assets: TreeDictionary<[UInt8], AssetRow> = [:]
    var assetReferences: TreeDictionary<Holder, Set<[UInt8]>> = [:]
    var outbox: TreeDictionary<Int64, OutboxRow> = [:]
    /// The identifiers in the outbox are those above this …
    var outboxTold: Int64 = 0
    /// … up to this.
    var outboxLast: Int64 = 0

    /// The zones of others that the owner takes part in.
    var sharedZones: TreeDictionary<SharedZoneKey, SharedZoneRow> = [:]

    init(incarnation: Incarnation) {
        self.incarnation = incarnation
    }
}

/// The order of bytes, which is SQLite's; Swift's own order of strings is another.
func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
}
