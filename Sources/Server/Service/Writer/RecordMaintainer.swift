import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

/// Keeps one kind of rows that are derived from records.
///
/// No function has a default: each maintainer states what it does on each occasion, even if it is nothing. It gets a
/// ``DerivedRowWriter``, which cannot write a record.
protocol RecordMaintainer {
    /// Called before the first record of a zone is written.
    ///
    /// - Parameter isShared: whether something of the zone is shared, before or afterwards.
    mutating func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) throws

    /// Called after the row of a living record was stored.
    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after a record was stored of which only the share changed.
    mutating func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after a record's tombstone was stored. `write.old` is the record as it was.
    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called for each living record when the derived rows of a database are rebuilt; the old ones were removed
    /// before (`rebuildDerivedRows(of:dropsDamaged:_:)`). `write.old` is nil.
    mutating func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after the last record of a zone was written.
    ///
    /// - Parameter version: the zone's version.
    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) throws

    /// Called before a zone is deleted with its records and all their derived rows in the same file.
    mutating func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) throws
}

/// The list of all maintainers: ``OutboxMaintainer`` has a file of its own, and the others are below.
enum RecordMaintainers {
    /// In the order in which they are called. Shares come before the outbox, whose events name the users who gained or
    /// lost access.
    static func all(for author: RecordAuthor) -> [any RecordMaintainer] {
        [
            IndexMaintainer(work: author.work),
            ReferenceMaintainer(),
            AncestorMaintainer(limits: author.ancestorLimits),
            AssetMaintainer(),
            ShareMaintainer(),
            UsageMaintainer(),
            OutboxMaintainer(author: author),
        ]
    }
}

/// Keeps the entries of the database's indexes: ``RecordIndexing``.
struct IndexMaintainer: RecordMaintainer {
    /// Entries that one record may change at no cost beyond that of its save: as many as the longest text has words.
    private static let freeEntriesPerRecord = 1_000

    /// Is charged for more entries: a list of 100,000 values in one record has as many.
    private let work: RequestWork?
    private var indexing = RecordIndexing()

    init(work: RequestWork?) { self.work = work }

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let entries = try indexing.update(
            write.row, fields: write.fields, old: write.old, in: rows)
        charge(entries)
    }

    /// No index contains sharing data.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let entries = try indexing.update(write.row, fields: [], old: write.old, in: rows)
        charge(entries)
    }

    mutating func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store deletes a zone's entries with it. The indexes themselves stay: other zones use them too.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func charge(_ entries: Int) {
        guard entries > Self.freeEntriesPerRecord else { return }
        work?.add(entriesWritten: entries - Self.freeEntriesPerRecord)
    }
}

/// Keeps the references with an action, by their targets: ``ReferenceRow``.
struct ReferenceMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try update(write, in: rows)
    }

    /// The fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try update(write, in: rows)
    }

    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store deletes a zone's references with it; they stay within their zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func update(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        var stored: Set<ActingReference> = []
        if let old = write.old {
            do {
                stored = try ActingReference.all(in: old.payload)
            } catch {
                // The old references cannot be parsed, so all stored ones of the record are
                // searched for and deleted.
                try rows.deleteReferences(heldBy: row.name, in: row.zone)
            }
        }
        for reference in stored.subtracting(write.references) {
            try rows.delete(reference.row(heldBy: row))
        }
        for reference in write.references.subtracting(stored) {
            try rows.put(reference.row(heldBy: row))
        }
    }
}

extension ActingReference {
    fileprivate func row(heldBy holder: RecordRow) -> ReferenceRow {
        ReferenceRow(zone: holder.zone, target: target, action: action, holder: holder.name)
    }
}

/// Keeps earlier states of living records, as far as there is room for them: ``AncestorRow``.
struct AncestorMaintainer: RecordMaintainer {
    /// The largest size of a state, over how many changes of its zone it is kept, and how many bytes a zone keeps.
    struct AncestorLimits: Sendable {
        let bytes: Int
        let changes: Int64
        let bytesPerZone: Int

        init(_ limits: Limits) {
            bytes = limits.ancestorBytes
            changes = limits.ancestorChanges
            bytesPerZone = limits.ancestorBytesPerZone
        }
    }

    let limits: AncestorLimits
    private var addedBytes = 0
    private var firstAdded: Int64?

    init(limits: AncestorLimits) { self.limits = limits }

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// Keeps the state that the change replaced. A state that is too large ends the chain, since those before it could
    /// not be found any more.
    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        guard let old = write.old else { return }
        if old.payload.count <= limits.bytes {
            try rows.put(AncestorRow(old, replacedAt: write.row.version))
            addedBytes += old.payload.count
            firstAdded = firstAdded ?? write.row.version
        } else {
            try forgetStates(of: old, in: rows)
        }
    }

    /// The record keeps its change tag, and so its state.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        if let old = write.old { try forgetStates(of: old, in: rows) }
    }

    /// Earlier states cannot be derived from a record; those that are kept stay.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter
    ) throws {
        try rows.deleteAncestors(replacedThrough: version - limits.changes, in: zone.key)
        defer { (addedBytes, firstAdded) = (0, nil) }
        // Rarely, so that a save does not pay for it: the last states are looked at, and the older ones only if states
        // like these would exceed what the zone keeps.
        let window = Self.changesPerCheck
        guard version / window > zone.version / window, limits.changes > 0 else { return }
        let start = zone.version / window * window
        let bytes = try rows.ancestorBytes(
            replacedAfter: start, before: firstAdded ?? version + 1, in: zone.key)
        let share = Double(version - start) / Double(limits.changes)
        guard Double(bytes + addedBytes) > Double(limits.bytesPerZone) * share else { return }
        try rows.deleteAncestors(beyondBytes: limits.bytesPerZone, in: zone.key)
    }

    /// Changes of a zone between two checks of its bytes.
    private static let changesPerCheck: Int64 = 256

    /// The store deletes a zone's states with it.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func forgetStates(of record: RecordRow, in rows: any DerivedRowWriter) throws {
        for state in try rows.ancestors(of: record) {
            try rows.deleteAncestor(replacedAt: state.replacedAt, in: state.zone)
        }
    }
}

extension StoreReader {
    /// The states that a living record had and that are still kept, the newest first.
    func ancestors(of row: RecordRow) throws -> [AncestorRow] {
        var states: [AncestorRow] = []
        // A tag contains the version of the change that made it, under which the state before it is stored.
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, let state = try ancestor(replacedAt: version, in: row.zone) {
            states.append(state)
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return states
    }

    /// The state of a living record with a change tag, if it and its assets are still kept.
    func ancestor(of row: RecordRow, tagged tag: String) throws -> RecordRow? {
        guard let wanted = ChangeTag.version(of: tag) else { return nil }
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, version > wanted,
            let state = try ancestor(replacedAt: version, in: row.zone)
        {
            if state.changeTag == tag {
                return try hasAssets(of: state) ? row.replaced(by: state) : nil
            }
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return nil
    }

    /// An earlier state does not keep its assets: once no record has them, they are removed.
    private func hasAssets(of state: AncestorRow) throws -> Bool {
        try StoredAssets.blobs(in: state.payload).allSatisfy { try asset($0.sha256)?.blob == $0 }
    }
}

extension RecordRow {
    fileprivate func replaced(by state: AncestorRow) -> RecordRow {
        var row = self
        row.changeTag = state.changeTag
        row.modifiedMilliseconds = state.modifiedMilliseconds
        row.modifier = state.modifier
        row.modifierDevice = state.modifierDevice
        row.parent = state.parent
        row.payload = state.payload
        return row
    }
}

/// Keeps which records hold which assets, and how many hold each.
struct AssetMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let new = StoredAssets.blobs(in: write.row.payload)
        guard !new.isEmpty || held(write.old) else { return }
        try rows.setAssets(Set(new.map(\.sha256)), of: write.row.name, in: write.row.zone)
    }

    /// The fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        guard held(write.old) else { return }
        try rows.setAssets([], of: write.row.name, in: write.row.zone)
    }

    /// A record whose asset is not in the database keeps its finding.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let isComplete = try StoredAssets.blobs(in: write.row.payload).allSatisfy {
            try rows.asset($0.sha256) != nil
        }
        if isComplete { try stored(write, in: rows) }
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store releases the assets of a zone's records with it.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func held(_ old: RecordRow?) -> Bool {
        old.map { StoredAssets.areIn($0.payload) } ?? false
    }
}

/// Keeps the shares by their links, the access by them, and which records left the view of a share.
struct ShareMaintainer: RecordMaintainer {
    /// The shares that were deleted in the zone.
    private var ended: [String] = []

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        if row.type == ShareDictionary.recordType {
            try put(row, in: rows)
        } else if let left = write.old?.shareRoot, row.shareRoot != left {
            try rows.put(ShareEventRow(row, leaving: left))
        }
        if let root = row.shareRoot, write.old?.shareRoot != root {
            try rows.deleteShareEvent(of: row.name, root: root, in: row.zone)
        }
    }

    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        if row.type == ShareDictionary.recordType {
            ended.append(row.name)
        } else if let left = write.old?.shareRoot {
            try rows.put(ShareEventRow(row, leaving: left))
        }
    }

    /// Shares end last, so that the rows of the records that left them are removed with them.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter
    ) throws {
        for share in ended { try rows.deleteShare(share, in: zone.key) }
        ended = []
    }

    /// The store deletes a zone's shares with it; their links are returned by
    /// ``RecordWriter/remove(_:reason:)``.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func put(_ row: RecordRow, in rows: any DerivedRowWriter) throws {
        let sharing = try RecordSharing(row)
        guard let share = sharing.share, let shortGUID = sharing.shortGUID else { return }
        try rows.put(
            ShareRow(zone: row.zone, name: row.name, root: share.root, shortGUID: shortGUID),
            access: share.access(by: row.name))
    }
}

extension ShareEventRow {
    /// A record that left the view of a root's share, with its current version.
    fileprivate init(_ row: RecordRow, leaving root: String) {
        self.init(
            zone: row.zone, root: root, name: row.name, type: row.type, version: row.version,
            commitVersion: row.commitVersion)
    }
}

/// The size of the living records in bytes, as quotas count it (``RecordUsage``).
///
/// This maintainer does nothing: triggers on the table of records keep the sum, regardless of which statement changes a
/// row. It is listed so that readers find it here.
struct UsageMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// A trigger adds the row's size, and subtracts that of the row it replaces.
    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// Name and fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts the record's size; a tombstone counts nothing.
    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// The store counts the bytes again before.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts each record that the store deletes with the zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}
}
