import StratusRecords
import StratusStorage

extension ModelTransaction {
    private func living(in zone: ZoneRow.Key) -> [RecordRow] {
        model.records.filter { $0.zone == zone && !$0.isDeleted }
    }

    func records(named names: [String], in zone: ZoneRow.Key) -> [String: RecordRow] {
        let found = model.records.filter { $0.zone == zone && names.contains($0.name) }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0) })
    }

    func put(_ row: RecordRow) {
        model.records.removeAll { $0.zone == row.zone && $0.name == row.name }
        model.records.append(row)
    }

    func scan(
        type: String, in zone: ZoneRow.Key, after name: String?,
        _ body: (RecordRow) throws -> Bool
    ) throws {
        for row in living(in: zone).sorted(by: \.name)
        where row.type == type && row.name > name ?? "" {
            if try !body(row) { return }
        }
    }

    func children(of parent: String, in zone: ZoneRow.Key, limit: Int) -> [String] {
        Array(
            living(in: zone).filter { $0.parent == parent }.map(\.name).sorted()
                .prefix(max(limit, 1)))
    }

    func descendantNames(of name: String, in zone: ZoneRow.Key, limit: Int) -> [String] {
        descendants(of: name, in: zone, limit: limit, payloadBytes: .max).map(\.name)
    }

    func descendants(
        of name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) -> [RecordRow] {
        var names: Set<String> = [name]
        var found: [RecordRow] = []
        while let next = living(in: zone).first(where: { row in
            row.parent.map(names.contains) == true && !names.contains(row.name)
        }) {
            names.insert(next.name)
            found.append(next)
        }
        var kept: [RecordRow] = []
        for row in found.prefix(max(limit, 1)) {
            kept.append(row)
            if kept.reduce(0, { $0 + $1.payload.count }) >= payloadBytes { break }
        }
        return kept
    }

    func records(
        in zone: ZoneRow.Key, after name: String, limit: Int, payloadBytes: Int
    ) -> [RecordRow] {
        var rows: [RecordRow] = []
        for row in model.records.filter({ $0.zone == zone && $0.name > name }).sorted(by: \.name) {
            rows.append(row)
            let bytes = rows.reduce(0) { $0 + $1.payload.count }
            if rows.count == max(limit, 1) || bytes >= payloadBytes { break }
        }
        return rows
    }

    func names(
        madeBy creator: String?, in zone: ZoneRow.Key, after name: String, limit: Int
    ) -> CreatedNames {
        let looked = model.records.filter { $0.zone == zone && $0.name > name }.sorted(by: \.name)
            .prefix(max(limit, 1))
        return CreatedNames(
            names: looked.filter { !$0.isDeleted && (creator == nil || $0.creator == creator) }
                .map(\.name),
            last: looked.count == max(limit, 1) ? looked.last?.name : nil)
    }

    // MARK: Changes

    func changes(
        in key: ZoneRow.Key, after cursor: ChangeCursor, limit: Int, payloadBytes: Int
    ) throws -> ChangePage {
        let zone = try zone(key)
        let rows = model.records.filter { row in
            row.zone == key && row.version > cursor.version
                && (!row.isDeleted || row.version > cursor.skipTombstonesThrough
                    || row.creatorDevice == cursor.device)
        }
        return page(of: rows, zone, cursor, limit, payloadBytes)
    }

    /// The first rows, which do not end inside a request unless the cursor allows it.
    func page(
        of rows: [RecordRow], _ zone: ZoneRow, _ cursor: ChangeCursor, _ limit: Int,
        _ payloadBytes: Int
    ) -> ChangePage {
        var kept: [RecordRow] = []
        for row in rows.sorted(by: { $0.version < $1.version }) {
            let isFull =
                kept.count >= max(limit, 1)
                || kept.reduce(0) { $0 + $1.payload.count } >= payloadBytes
            let mayEnd =
                model.defect == .pageEndsInsideARequest || !cursor.wantsWholeBatches
                || kept.last?.commitVersion != row.commitVersion
            if let last = kept.last, isFull, mayEnd {
                return ChangePage(rows: kept, version: last.version, moreComing: true)
            }
            kept.append(row)
        }
        return ChangePage(rows: kept, version: zone.version, moreComing: false)
    }

    // MARK: Counts

    var recordBytes: Int64 { countRecordBytes() }

    func countRecordBytes() -> Int64 {
        model.records.reduce(0) { sum, row in
            let counts = !row.isDeleted || model.defect == .tombstonesCountAsBytes
            return sum + (counts ? Int64(row.name.utf8.count + row.payload.count) : 0)
        }
    }

    func counts(of zone: ZoneRow.Key) -> ZoneCounts {
        let rows = model.records.filter { $0.zone == zone }
        return ZoneCounts(records: rows.count, tombstones: rows.count(where: \.isDeleted))
    }

    func tombstoneCounts() -> [ZoneRow.Key: Int] {
        Dictionary(grouping: model.records.filter(\.isDeleted), by: \.zone).mapValues(\.count)
    }

    func oldTombstones(before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int) -> Int64? {
        model.records.filter { $0.zone == zone && $0.isDeleted }
            .sorted { $0.version < $1.version }
            .prefix(max(limit, 1))
            .prefix { $0.modifiedMilliseconds < milliseconds }
            .last?.version
    }
}
