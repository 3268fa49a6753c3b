import StratusRecords
import StratusStorage

/// Writes records: the only caller of `takeVersions`, and the only place where a record's row is put.
///
/// The rule, for every record of every request:
/// 1. `write(_:in:isShared:_:)` takes a version of the zone for each record that will be written.
/// 2. `put(_:)` and `move(_:)` give a record the next of them and store its row.
/// 3. Each maintainer brings its rows up to date, in the order of ``RecordMaintainers/all(for:)``; the outbox
///    comes last, so that subscribers are notified of what is stored.
/// 4. After the zone's last record the maintainers finish what they gathered.
///
/// `remove(_:reason:)` does the same for a whole zone. ``RecordWriting`` makes the writers; each is valid only
/// inside the transaction that it was made for.
struct RecordWriter {
    /// For reading, and for changes of anything but records.
    let transaction: any StoreWriter
    /// Whether subscribers or participants may have to be notified.
    private(set) var mayHaveEvents = false
    /// How many tombstones were stored.
    private(set) var tombstoneCount = 0
    /// Whether some work is left to be done in steps (``LongChanges``).
    var hasLongChange = false

    private let rows: any RecordTransaction
    /// The same transaction, for the maintainers.
    private let derived: any DerivedRowWriter
    private let author: RecordAuthor
    private var maintainers: [any RecordMaintainer]
    private var numbers = Numbers()

    fileprivate init(_ rows: any RecordTransaction, _ author: RecordAuthor) {
        self.rows = rows
        self.author = author
        transaction = rows
        derived = rows
        maintainers = RecordMaintainers.all(for: author)
    }

    // MARK: Records

    /// Writes records of one zone.
    ///
    /// - Parameters:
    ///   - count: how many there will be at most; at least one.
    ///   - isShared: whether something of the zone is shared, before or afterwards.
    ///   - body: puts and moves the records.
    mutating func write(
        _ count: Int, in zone: ZoneRow, isShared: Bool,
        _ body: (inout RecordWriter) throws -> Void
    ) throws {
        try numbers.begin(rows.takeVersions(count, in: zone.key), in: rows)
        mayHaveEvents = mayHaveEvents || author.subscriptions.wantsEvents || isShared
        for index in maintainers.indices {
            try maintainers[index].begin(zone, isShared: isShared, in: derived)
        }
        try body(&self)
        for index in maintainers.indices {
            try maintainers[index].finish(zone, through: numbers.last, in: derived)
        }
    }

    /// Stores a record, or its tombstone, with a version and a change tag of its own.
    ///
    /// - Returns: The row as it is stored.
    @discardableResult
    mutating func put(_ write: RecordWrite) throws -> RecordRow {
        var write = write
        try numbers.take(for: &write.row)
        write.row.changeTag = try numbers.changeTag(of: write.row)
        try rows.put(write.row)
        if write.row.isDeleted {
            tombstoneCount += 1
            for index in maintainers.indices { try maintainers[index].deleted(write, in: derived) }
        } else {
            for index in maintainers.indices { try maintainers[index].stored(write, in: derived) }
        }
        return write.row
    }

    /// Stores a record of which only the share changed: it gets a new version, and keeps its change tag.
    mutating func move(_ write: RecordWrite) throws {
        var write = write
        try numbers.take(for: &write.row)
        try rows.put(write.row)
        for index in maintainers.indices { try maintainers[index].moved(write, in: derived) }
    }

    /// Derives the rows of a living record again, which stays as it is, after all derived rows were removed.
    mutating func rebuild(_ write: RecordWrite) throws {
        for index in maintainers.indices { try maintainers[index].rebuilt(write, in: derived) }
    }

    // MARK: Zones

    /// Creates a custom zone.
    mutating func create(_ name: String, encryptionScope: ZoneEncryptionScope) throws -> ZoneRow {
        if let former = try rows.zone(named: name),
            try rows.longChanges(in: former.key).contains(.zoneRemoval)
        {
            throw ServiceError.formerZoneRemoval
        }
        let zone = try rows.createZone(
            named: name, hasFeed: true, encryptionScope: encryptionScope)
        guard author.subscriptions.wantsEvents else { return zone }
        mayHaveEvents = true
        try rows.enqueue(
            OutboxEvent(zoneChangedBy: author, named: name, subject: .zoneCreated).bytes)
        return zone
    }

    /// Deletes a zone with its records.
    ///
    /// - Returns: The short GUIDs of the zone's shares: the directory should remove them after the commit.
    mutating func remove(_ zone: ZoneRow, reason: ZoneRow.Deletion) throws -> [String] {
        mayHaveEvents = true
        let links = try rows.shares(in: zone.key, limit: .max).map(\.shortGUID)
        for index in maintainers.indices { try maintainers[index].removing(zone, in: derived) }
        if try rows.holdsMoreRecords(than: author.recordsAtOnce, in: zone.key) {
            try rows.hideZone(zone.key, reason: reason)
            try rows.put(LongChangeRow(zone: zone.key, kind: .zoneRemoval, name: ""))
            hasLongChange = true
        } else {
            try rows.deleteZone(zone.key, reason: reason)
        }
        return links
    }

    /// Removes some rows of a zone that was deleted with more rows than one transaction removes.
    ///
    /// - Returns: Whether there were any.
    func removeRows(ofDeleted zone: ZoneRow.Key, limit: Int) throws -> Bool {
        try rows.removeRows(ofHiddenZone: zone, limit: limit)
    }

    /// Removes the oldest tombstones of a zone. Their derived rows were removed together with the records.
    ///
    /// - Returns: the number of removed tombstones.
    static func purgeTombstones(
        _ rows: any RecordTransaction, before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) throws -> Int {
        guard let version = try rows.oldTombstones(before: milliseconds, in: zone, limit: limit)
        else { return 0 }
        return try rows.purgeTombstones(through: version, in: zone)
    }

    // MARK: Versions

    /// The versions that were taken for the records of one zone.
    private struct Numbers {
        private var next: Int64 = 1
        private(set) var last: Int64 = 0
        /// The epoch in which the versions were taken.
        private var epoch: Epoch?

        /// Thrown when more records are written than versions were taken for.
        struct Exhausted: Error {}

        mutating func begin(_ versions: ClosedRange<Int64>, in reader: any StoreReader) throws {
            next = versions.lowerBound
            last = versions.upperBound
            epoch = try reader.epoch
        }

        /// Gives a row the next version.
        mutating func take(for row: inout RecordRow) throws {
            guard next <= last else { throw Exhausted() }
            row.version = next
            row.commitVersion = last
            next += 1
        }

        func changeTag(of row: RecordRow) throws -> String {
            guard let epoch else { throw Exhausted() }
            return ChangeTag(version: row.version, epoch: epoch).text
        }
    }
}

/// Runs the transactions that write records, and notifies subscribers after the commit.
///
/// Nothing else calls `RecordStore.writeRecords` or makes a ``RecordWriter``.
struct RecordWriting: Sendable {
    let subscriptions: SubscriptionCache
    let notifications: Notifications
    let ancestorLimits: AncestorMaintainer.AncestorLimits
    let recordsAtOnce: Int

    /// Runs `body` in a transaction on a database.
    ///
    /// - Parameters:
    ///   - user: the user who makes the change.
    ///   - device: the device that makes it; empty for an operator's change, of which all devices are notified.
    ///   - work: is charged for index entries, if there are many.
    func write<Outcome: Sendable>(
        to store: any RecordStore, by user: String, on device: String,
        charging work: RequestWork? = nil,
        _ body: @escaping @Sendable (inout RecordWriter) throws -> Outcome
    ) async throws -> Outcome {
        let cursor = notifications.cursor(of: store.address)
        let reading = try await subscriptions.reading(of: store)
        let (outcome, mayHaveEvents) = try await store.writeRecords { rows in
            // What was dispatched is removed by a transaction that runs anyway.
            if let through = cursor.takeLeft() { try rows.dequeue(through: through) }
            let author = RecordAuthor(
                user: user, device: device,
                subscriptions: try subscriptions.summary(reading, in: rows, of: store.address),
                ancestorLimits: ancestorLimits,
                recordsAtOnce: recordsAtOnce, work: work)
            var writer = RecordWriter(rows, author)
            return (try body(&writer), writer.mayHaveEvents)
        }
        if mayHaveEvents { notifications.dispatch(store) }
        return outcome
    }

    /// Notifies a participant's devices of a zone that was just added to their database: fetches that the joining
    /// itself caused may have been answered without it.
    func notify(
        _ user: String, on device: String, ofJoined zoneName: String, in store: any RecordStore
    ) async throws {
        var event = ShareEvent(zoneName: zoneName, user: user, device: device)
        event.affected = [user]
        let bytes = event.bytes
        try await store.write { try $0.enqueue(bytes) }
        notifications.dispatch(store)
    }

    /// Removes the oldest tombstones of a zone. No user makes this change, and no one is notified.
    ///
    /// - Returns: the number of removed tombstones.
    static func purgeTombstones(
        of store: any RecordStore, before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) async throws -> Int {
        try await store.writeRecords { rows in
            try RecordWriter.purgeTombstones(rows, before: milliseconds, in: zone, limit: limit)
        }
    }

    /// The writer for a repair, in the transaction that the store made for it. No user and no device makes these
    /// changes, and no one is notified.
    static func repair(_ rows: any RecordTransaction) -> RecordWriter {
        RecordWriter(
            rows,
            RecordAuthor(
                user: "", device: "", subscriptions: SubscriptionSummary([], owner: nil),
                ancestorLimits: .init(Limits()), recordsAtOnce: .max))
    }
}

/// A record to store, with what other tables derive from it.
struct RecordWrite {
    /// The row; the writer sets its version, commit version and change tag.
    var row: RecordRow
    /// All its fields; empty for a tombstone.
    var fields: [Field]
    /// The references with an action; none for a tombstone.
    var references: Set<ActingReference>
    /// The living record as it was before; nil for a new one.
    var old: RecordRow?
}

/// The user and device for whom records are written.
struct RecordAuthor: Sendable {
    var user: String
    /// The device that is not notified of its own changes; empty for an operator's, of which all are notified.
    var device: String
    var subscriptions: SubscriptionSummary
    var ancestorLimits: AncestorMaintainer.AncestorLimits
    /// How many rows of records a zone may have to be deleted in one transaction.
    var recordsAtOnce: Int
    /// Is charged for what the writing costs beyond what the request shows; nil if no request pays for it.
    var work: RequestWork?
}
