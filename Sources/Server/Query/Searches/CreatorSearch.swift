import StratusMatching
import StratusRecords
import StratusStorage

/// Finds the living records of a zone that one user created, in pages.
///
/// If each of the types has an index of its records' creators, only these are read. Otherwise the names of all records
/// of the zone are read, without their fields.
package struct CreatorSearch: Sendable {
    /// Where a page ended.
    package struct Position: Hashable, Sendable {
        /// How many of the indexes are done.
        fileprivate var indexesDone = 0
        /// The last name that was read in the next one, or in the zone.
        fileprivate var name = ""
        /// The indexes that the first page found; nil if not all types have one.
        fileprivate var indexes: [IndexRow.Key]?
    }

    package struct Stretch: Sendable {
        package var names: [String]
        /// Nil after the last record.
        package var next: Position?
    }

    private let creator: String?
    private let definitions: [IndexRow.Definition]
    private let limit: Int

    /// - Parameters:
    ///   - creator: The user who created the records; nil for those of all users.
    ///   - recordTypes: All types of the zone's records.
    ///   - limit: How many entries or records a page reads.
    package init(creator: String?, recordTypes: [String], limit: Int) {
        self.creator = creator
        self.limit = max(limit, 1)
        definitions = recordTypes.sorted().map {
            .value(.system(.createdUserRecordName), .reference, of: $0)
        }
    }

    /// - Parameter position: Where the previous page ended; nil for the beginning.
    package func stretch(
        of zone: ZoneRow.Key, after position: Position?, in reader: any StoreReader
    ) throws -> Stretch {
        var position = try position ?? Position(indexes: indexes(reader))
        if let creator, let indexes = position.indexes, try isReadable(indexes, reader) {
            return try stretch(of: zone, creator, indexes, after: position, reader)
        }
        if position.indexes != nil {
            // One of them was dropped in the meantime: start again, by names.
            position = Position()
        }
        let found = try reader.names(
            madeBy: creator, in: zone, after: position.name, limit: limit)
        return Stretch(names: found.names, next: found.last.map { Position(name: $0) })
    }

    private func stretch(
        of zone: ZoneRow.Key, _ creator: String, _ indexes: [IndexRow.Key],
        after position: Position, _ reader: any StoreReader
    ) throws -> Stretch {
        guard position.indexesDone < indexes.count,
            let key = IndexKey.bytes(of: .reference(Reference(recordName: creator)))
        else { return Stretch(names: [], next: nil) }
        let range = KeyRange.only(key)
        let entries = try reader.entries(
            of: indexes[position.indexesDone], in: zone,
            between: (IndexEntry(key: range.lower, name: position.name), range.bounds.1),
            isAscending: true, limit: limit)
        var next = position
        if entries.count == limit, let last = entries.last {
            next.name = last.name
        } else {
            next.indexesDone += 1
            next.name = ""
        }
        return Stretch(
            names: entries.map(\.name), next: next.indexesDone < indexes.count ? next : nil)
    }

    private func indexes(_ reader: any StoreReader) throws -> [IndexRow.Key]? {
        guard creator != nil else { return nil }
        var keys: [IndexRow.Key] = []
        let readable = try readable(reader)
        for definition in definitions {
            guard let index = readable.first(where: { $0.definition == definition }) else {
                return nil
            }
            keys.append(index.key)
        }
        return keys
    }

    private func isReadable(_ keys: [IndexRow.Key], _ reader: any StoreReader) throws -> Bool {
        Set(keys).isSubset(of: try readable(reader).map(\.key))
    }

    private func readable(_ reader: any StoreReader) throws -> [IndexRow] {
        try reader.indexes().filter { $0.phase == .readable }
    }
}
