import StratusMatching
import StratusRecords
import StratusStorage

/// Compares the entries of a database's indexes with those that its records should have.
///
/// An entry has no checksum: one with an altered key hides its record from every query by that index, and no checksum
/// of a row shows it.
package struct IndexExamination {
    private struct Place: Hashable {
        var index: IndexRow.Key
        var zone: ZoneRow.Key
    }

    /// The complete indexes, by record type.
    private let indexes: [String: [IndexRow]]
    private var expected: [Place: Int] = [:]

    package init(_ reader: any StoreReader) throws {
        let complete = try reader.indexes().filter { $0.phase == .readable }
        indexes = Dictionary(grouping: complete) { $0.definition.recordType }
    }

    /// Whether each index has the entries of a living record.
    ///
    /// - Throws: `WireError` when the stored fields cannot be read.
    package mutating func hasEntries(
        of row: RecordRow, in reader: any StoreReader
    ) throws -> Bool {
        guard let indexes = indexes[row.type] else { return true }
        let values = try RecordValues(row)
        var hasAll = true
        for index in indexes {
            let keys = index.definition.keys(of: values)
            expected[Place(index: index.key, zone: row.zone), default: 0] += keys.count
            for key in keys {
                let count = try reader.entryCount(
                    of: index.key, in: row.zone,
                    between: IndexEntry(key: key, name: row.name).bounds, limit: 1)
                hasAll = hasAll && count == 1
            }
        }
        return hasAll
    }

    /// The fields and types of the indexes that have more entries than those of the examined records. Call it after all
    /// records of a zone.
    package func indexesWithMore(
        in zone: ZoneRow.Key, _ reader: any StoreReader
    ) throws -> [String] {
        try indexes.values.joined().sorted { $0.key.rawValue < $1.key.rawValue }.compactMap {
            let expected = expected[Place(index: $0.key, zone: zone)] ?? 0
            let found = try reader.entryCount(
                of: $0.key, in: zone, within: .all, limit: expected + 1)
            guard found > expected else { return nil }
            return "\($0.definition.recordType).\($0.definition.field)"
        }
    }
}
