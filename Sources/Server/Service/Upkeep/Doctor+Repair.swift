import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import StratusWire

extension Doctor {
    /// Rebuilds the derived rows that an examination found wrong: index entries, the references by their targets, the
    /// holders of assets, shares and the access by them, the roots under which records are shared, and the counters.
    /// Then examines again.
    ///
    /// A database is rebuilt in one transaction, so that a crash leaves it as it was. Records themselves are not
    /// changed, except that one whose shared root was wrong gets a new version, so that participants' devices fetch it.
    /// Needs exclusive access to the folder.
    ///
    /// - Parameters:
    ///   - dropsDamaged: Whether rows whose checksum does not match are dropped. A record leaves a tombstone, so that
    ///     the changes of its zone can be fetched again, and devices that had the record delete it.
    ///   - world: The source of the tombstones' times.
    /// - Returns: What is still wrong, and what was done.
    package func repair(
        dropsDamaged: Bool = false, world: World = .live
    ) async throws -> Repair {
        let before = try await examine()
        let paths = Set(
            before.findings.filter { $0.isRebuilt || dropsDamaged && $0.isDamagedRow }.map(\.path))
        // Rows of a damaged file are not reliable, so nothing is derived from them.
        let damaged = Set(before.findings.filter(\.isDamage).map(\.path))
        var repair = Repair(diagnosis: before)
        for address in try await storage.databases() {
            let path = storage.path(of: address)
            guard paths.contains(path), !damaged.contains(path) else { continue }
            let dropped = try await storage.rebuildDerivedRows(
                of: address, dropsDamaged: dropsDamaged
            ) { rows, damaged in
                try Self.leaveTombstones(of: damaged, in: rows, world.nowMilliseconds())
                for zone in try rows.zones() {
                    var rebuilding = ZoneRebuilding(zone)
                    try rebuilding.rebuild(rows)
                }
            }
            repair.rebuilt.append(path)
            repair.dropped += dropped.map { "\(path): the \($0.kind) \($0.name)" }
        }
        if !repair.rebuilt.isEmpty { repair.diagnosis = try await examine() }
        return repair
    }

    /// The result of a repair.
    package struct Repair: Sendable {
        /// The examination after the repair.
        package var diagnosis: Diagnosis
        /// The paths of the databases that were rebuilt.
        package var rebuilt: [String] = []
        /// The damaged rows that were dropped, each with the path of its database.
        package var dropped: [String] = []
    }

    /// The contents of these records cannot be read, so no one is notified; devices see the deletions in the changes of
    /// the zones.
    private static func leaveTombstones(
        of records: [RecordRow], in rows: any RecordTransaction, _ nowMilliseconds: Int64
    ) throws {
        var writer = RecordWriting.repair(rows)
        for zone in try rows.zones() {
            let damaged = records.filter { $0.zone == zone.key }
            guard !damaged.isEmpty else { continue }
            try writer.write(damaged.count, in: zone, isShared: false) { writer in
                for record in damaged {
                    var row = record.tombstone(
                        modifier: record.modifier, device: "", milliseconds: nowMilliseconds)
                    row.creatorDevice = ""
                    // Without the previous row, since nothing can be derived from it.
                    try writer.put(RecordWrite(row: row, fields: [], references: [], old: nil))
                }
            }
        }
    }
}

/// The derived rows of one zone, rebuilt from its records by the maintainers that otherwise keep them.
private struct ZoneRebuilding {
    private let zone: ZoneRow
    /// The parents of the zone's living records, and the roots that their rows name.
    private var parents: [String: String] = [:]
    private var roots: [String: String] = [:]

    init(_ zone: ZoneRow) {
        self.zone = zone
    }

    mutating func rebuild(_ rows: any RecordTransaction) throws {
        var writer = RecordWriting.repair(rows)
        try rows.recordPages(in: zone.key) { page in
            for row in page where !row.isDeleted { try rebuild(row, &writer) }
            return true
        }
        try rebuildRoots(rows, &writer)
    }

    private mutating func rebuild(_ row: RecordRow, _ writer: inout RecordWriter) throws {
        let fields: [Field]
        do {
            fields = try RecordFields.encoded(row.payload).values()
            _ = try RecordSharing(row)
        } catch {
            // Nothing can be derived from bytes that cannot be read; the examination reports them.
            return
        }
        try writer.rebuild(
            RecordWrite(
                row: row, fields: fields, references: ActingReference.all(in: fields), old: nil))
        guard row.type != ShareDictionary.recordType else { return }
        parents[row.name] = row.parent
        roots[row.name] = row.shareRoot
    }

    /// Corrects the records whose rows name a root that is not shared, or another root than theirs.
    private func rebuildRoots(
        _ rows: any RecordTransaction, _ writer: inout RecordWriter
    ) throws {
        let shared = Set(try rows.shares(in: zone.key, limit: .max).compactMap(\.root))
        guard !shared.isEmpty || !roots.isEmpty else { return }
        var moves: [(name: String, root: String?)] = []
        for name in Set(parents.keys).union(roots.keys).union(shared).sorted() {
            let root = self.root(of: name, among: shared)
            if root != roots[name] { moves.append((name, root)) }
        }
        guard !moves.isEmpty else { return }
        try writer.write(moves.count, in: zone, isShared: true) { writer in
            for move in moves {
                let name = move.name
                guard let old = try rows.records(named: [name], in: zone.key)[name],
                    !old.isDeleted
                else { continue }
                var row = old
                row.shareRoot = move.root
                try writer.move(
                    RecordWrite(
                        row: row, fields: try RecordFields.encoded(row.payload).values(),
                        references: [], old: old))
            }
        }
    }

    /// The nearest shared record, from this one upwards.
    private func root(of name: String, among shared: Set<String>) -> String? {
        var seen: Set<String> = []
        var current: String? = name
        while let name = current, seen.insert(name).inserted {
            if shared.contains(name) { return name }
            current = parents[name]
        }
        return nil
    }
}
