import StratusMatching
import StratusRecords
import StratusStorage

/// Updates the index entries of the records that a transaction writes.
///
/// It writes the indexes that the database has, regardless of the current schema: also an index that is being built,
/// but not one that is being dropped.
package struct RecordIndexing {
    private var indexes: [String: [IndexRow]] = [:]

    package init() {}

    /// Adds and removes a record's entries. Call it for every record that is written.
    ///
    /// - Parameters:
    ///   - fields: All fields of the record; empty for a tombstone.
    ///   - old: The record before, unless it was deleted or did not exist.
    /// - Returns: How many entries were added and removed.
    @discardableResult
    package mutating func update(
        _ row: RecordRow, fields: [Field], old: RecordRow?, in writer: any StoreWriter
    ) throws -> Int {
        let new = row.isDeleted ? nil : RecordValues(row, fields: fields)
        let living = try old.map { try Self.values(of: $0) }
        guard let old, old.type != row.type else {
            return try change(from: living, to: new, row, in: writer)
        }
        let removed = try change(from: living, to: nil, old, in: writer)
        return try removed + change(from: nil, to: new, row, in: writer)
    }

    private static func values(of row: RecordRow) throws -> RecordValues {
        try RecordValues(row)
    }

    private mutating func change(
        from old: RecordValues?, to new: RecordValues?, _ row: RecordRow,
        in writer: any StoreWriter
    ) throws -> Int {
        var count = 0
        for index in try indexes(of: row.type, in: writer) {
            let before = old.map(index.definition.keys(of:)) ?? []
            let after = new.map(index.definition.keys(of:)) ?? []
            if before == after { continue }
            let change = IndexKeyChange(from: before, to: after)
            for key in change.removed {
                try writer.delete(IndexEntry(key: key, name: row.name), of: index.key, in: row.zone)
            }
            for key in change.added {
                try writer.put(IndexEntry(key: key, name: row.name), of: index.key, in: row.zone)
            }
            count += change.removed.count + change.added.count
        }
        return count
    }

    /// The indexes to write. The index of names exists from a type's first record on: building the others
    /// finds the records by it.
    private mutating func indexes(
        of recordType: String, in writer: any StoreWriter
    ) throws -> [IndexRow] {
        if let known = indexes[recordType] { return known }
        var found = try writer.indexes(ofType: recordType).filter { $0.phase != .dropping }
        if !found.contains(where: { $0.definition.kind == .name }) {
            found.append(try Self.createIndex(.name(of: recordType), in: writer))
        }
        indexes[recordType] = found
        return found
    }

    /// Creates an index. It is readable immediately if there is no record of the type yet.
    @discardableResult
    static func createIndex(
        _ definition: IndexRow.Definition, in writer: any StoreWriter
    ) throws -> IndexRow {
        let names = try writer.indexes(ofType: definition.recordType)
            .first { $0.definition.kind == .name && $0.phase != .dropping }
        let isComplete: Bool
        if let names {
            isComplete =
                try names.phase == .readable
                && writer.zones().allSatisfy { zone in
                    try writer.entryCount(of: names.key, in: zone.key, within: .all, limit: 1) == 0
                }
        } else {
            isComplete = try !writer.hasRecordsOlderThanIndexes
        }
        return try writer.createIndex(definition, phase: isComplete ? .readable : .building)
    }
}

/// The keys of one record in an index that a change removes, and those that it adds.
///
/// A list may have 100,000 keys, and the database's other writes wait meanwhile: the time grows with their number, not
/// with its square.
struct IndexKeyChange<Key: Hashable> {
    let removed: [Key]
    let added: [Key]

    init(from before: [Key], to after: [Key]) {
        removed = Self.keys(before, missingIn: after)
        added = Self.keys(after, missingIn: before)
    }

    private static func keys(_ keys: [Key], missingIn others: [Key]) -> [Key] {
        if keys.isEmpty || others.isEmpty { return keys }
        // Making a set takes longer than a few comparisons.
        if min(keys.count, others.count) <= 8 { return keys.filter { !others.contains($0) } }
        let others = Set(others)
        return keys.filter { !others.contains($0) }
    }
}
