import StratusMatching
import StratusRecords
import StratusStorage

/// Builds and drops indexes in steps, each a bounded amount of work inside a transaction.
struct IndexBuilding: Sendable {
    let limits: Limits

    /// Takes the next step.
    ///
    /// - Returns: Whether there may be more to do.
    func step(in writer: any StoreWriter) throws -> Bool {
        let unfinished = try writer.indexes().filter { $0.phase != .readable }
        if let index = unfinished.first(where: { $0.phase == .dropping }) {
            try drop(index, in: writer)
            return true
        }
        // Names first: the other indexes find the records of the type through them.
        guard
            let next = unfinished.min(by: { left, right in
                let (one, other) = (left.definition.kind == .name, right.definition.kind == .name)
                return one == other ? left.key.rawValue < right.key.rawValue : one
            })
        else { return false }
        if next.definition.kind == .name {
            try addNames(
                unfinished.filter { $0.hasSameProgress(as: next, ofKind: .name) }, in: writer)
        } else {
            let others = unfinished.filter {
                $0.hasSameProgress(as: next, ofKind: nil)
                    && $0.definition.recordType == next.definition.recordType
            }
            try addKeys(others, in: writer)
        }
        return true
    }

    private func drop(_ index: IndexRow, in writer: any StoreWriter) throws {
        var rest = limits.entriesPerIndexStep
        for zone in try writer.zones() {
            let entries = try writer.entries(
                of: index.key, in: zone.key, between: KeyRange.all.bounds, isAscending: true,
                limit: rest)
            for entry in entries { try writer.delete(entry, of: index.key, in: zone.key) }
            rest -= entries.count
            if rest <= 0 { return }
        }
        try writer.deleteIndex(index.key)
    }

    /// Reads all records of a zone, as no index lists the records of a type yet.
    private func addNames(_ indexes: [IndexRow], in writer: any StoreWriter) throws {
        guard let zone = try zone(of: indexes[0], in: writer) else {
            return try finish(indexes, in: writer)
        }
        let rows = try writer.records(
            in: zone, after: indexes[0].progressName(in: zone),
            limit: limits.recordsPerIndexStep, payloadBytes: limits.bytesPerIndexStep)
        for row in rows where !row.isDeleted {
            for index in indexes where index.definition.recordType == row.type {
                try writer.put(
                    IndexEntry(key: IndexKey.missing, name: row.name), of: index.key, in: zone)
            }
        }
        try advance(indexes, in: zone, to: rows.last?.name, in: writer)
    }

    /// Reads the records of a type by their names.
    private func addKeys(_ indexes: [IndexRow], in writer: any StoreWriter) throws {
        guard
            let names = try writer.indexes(ofType: indexes[0].definition.recordType)
                .first(where: { $0.definition.kind == .name && $0.phase == .readable }),
            let zone = try zone(of: indexes[0], in: writer)
        else { return try finish(indexes, in: writer) }
        let entries = try writer.entries(
            of: names.key, in: zone,
            between: (
                IndexEntry(key: IndexKey.missing, name: indexes[0].progressName(in: zone)),
                KeyRange.all.bounds.1
            ), isAscending: true, limit: limits.recordsPerIndexStep)
        var bytes = 0
        var last: String?
        for entry in entries {
            last = entry.name
            guard let row = try writer.records(named: [entry.name], in: zone)[entry.name] else {
                continue
            }
            let values = try RecordValues(row)
            for index in indexes {
                for key in index.definition.keys(of: values) {
                    try writer.put(IndexEntry(key: key, name: row.name), of: index.key, in: zone)
                }
            }
            bytes += row.payload.count
            if bytes >= limits.bytesPerIndexStep { break }
        }
        try advance(indexes, in: zone, to: last, in: writer)
    }

    /// The zone in which building continues; nil when all zones are done.
    private func zone(of index: IndexRow, in writer: any StoreWriter) throws -> ZoneRow.Key? {
        try writer.zones().map(\.key)
            .filter { $0.rawValue >= index.progressZone.rawValue }
            .min { $0.rawValue < $1.rawValue }
    }

    /// - Parameter name: The last record of the step; nil when the zone has no more.
    private func advance(
        _ indexes: [IndexRow], in zone: ZoneRow.Key, to name: String?, in writer: any StoreWriter
    ) throws {
        for var index in indexes {
            index.progressZone =
                name == nil ? ZoneRow.Key(rawValue: zone.rawValue + 1) : zone
            index.progressName = name ?? ""
            try writer.update(index)
        }
    }

    private func finish(_ indexes: [IndexRow], in writer: any StoreWriter) throws {
        for var index in indexes {
            index.phase = .readable
            try writer.update(index)
        }
    }
}

extension IndexRow {
    /// Whether the index is being built and is as far as another.
    fileprivate func hasSameProgress(as other: IndexRow, ofKind kind: Kind?) -> Bool {
        phase == .building && (kind == nil || definition.kind == kind)
            && progressZone == other.progressZone && progressName == other.progressName
    }

    fileprivate func progressName(in zone: ZoneRow.Key) -> String {
        progressZone == zone ? progressName : ""
    }
}
