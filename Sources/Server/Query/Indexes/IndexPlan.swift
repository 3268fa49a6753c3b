import StratusRecords
import StratusStorage

/// The indexes that a database should have after a request: the existing ones that the schema still allows, and those
/// that the request asks for.
struct IndexPlan: Sendable {
    /// The most indexes of one database, without those of names, of which each type with records has one.
    let limit: Int
    /// The most compound indexes among them.
    let compoundLimit: Int
    /// Whether an index that is asked for may take the place of another one.
    let mayReplace: Bool
    /// The indexes that the schema allows, by record type.
    var allowed: [String: Set<IndexRow.Definition>] = [:]
    /// The indexes that are asked for.
    var asked: Set<IndexRow.Definition> = []
    /// Compound indexes that cost more than they are used.
    var unused: Set<IndexRow.Definition> = []
    /// The number of the last request that asked for an index.
    var lastRequests: [IndexRow.Definition: UInt64] = [:]

    struct Survey: Sendable {
        /// Whether the database has all indexes that are asked for, and none that is not allowed.
        var conforms = true
        /// Whether an index is being built or dropped.
        var isUnfinished = false
        /// Whether there are records from before there were indexes, which no index lists.
        var hasOlderRecords = false
        /// All indexes that exist or are being built.
        var present: Set<IndexRow.Definition> = []
    }

    /// The most existing records that are counted to estimate how much must be built.
    static let recordsCounted = 10_000

    private func isAllowed(_ definition: IndexRow.Definition) -> Bool {
        guard let allowed = allowed[definition.recordType], definition.kind != .name else {
            return true
        }
        guard definition.kind == .compound else { return allowed.contains(definition) }
        return definition.components.allSatisfy(allowed.contains) && !unused.contains(definition)
    }

    /// Whether an index that was asked for exists, or would not be created for anyone.
    func isDecided(
        _ definition: IndexRow.Definition, present: Set<IndexRow.Definition>
    ) -> Bool {
        mayReplace || present.contains(definition) || !isAllowed(definition)
    }

    /// Whether a missing index can be created beside the existing ones, or in place of one.
    private func hasRoom(
        for definition: IndexRow.Definition, beside present: Set<IndexRow.Definition>
    ) -> Bool {
        guard !mayReplace, definition.kind != .name else { return true }
        if definition.kind == .compound {
            let compounds = present.count { $0.kind == .compound }
            guard compounds < compoundLimit else { return false }
        }
        return present.count { $0.kind != .name } < limit
    }

    /// The indexes that are asked for, and those of the types' names.
    private var wanted: Set<IndexRow.Definition> {
        asked.filter(isAllowed).union(allowed.keys.map { .name(of: $0) })
    }

    func survey(_ reader: any StoreReader) throws -> Survey {
        var survey = Survey()
        for index in try reader.indexes() {
            let isOfType = allowed[index.definition.recordType] != nil
            if isOfType, index.phase != .readable { survey.isUnfinished = true }
            guard index.phase != .dropping else { continue }
            survey.present.insert(index.definition)
            if !isAllowed(index.definition) { survey.conforms = false }
        }
        let missing = wanted.subtracting(survey.present)
        if missing.contains(where: { hasRoom(for: $0, beside: survey.present) }) {
            survey.conforms = false
        }
        survey.hasOlderRecords = try !survey.conforms && reader.hasRecordsOlderThanIndexes
        return survey
    }

    /// Drops indexes that are not allowed, creates missing ones, and if there are too many, drops those that were asked
    /// for least recently, or leaves out missing ones that may not replace others.
    ///
    /// - Returns: The resulting indexes, and about how many entries must be added.
    func carryOut(
        in writer: any StoreWriter
    ) throws -> (present: Set<IndexRow.Definition>, entries: Int) {
        var kept: [IndexRow.Definition: IndexRow] = [:]
        for index in try writer.indexes() where index.phase != .dropping {
            if isAllowed(index.definition) {
                kept[index.definition] = index
            } else {
                try giveUp(index, in: writer)
            }
        }
        // The index of names first: the others find their records through it.
        let missing = wanted.subtracting(kept.keys).sorted {
            ($0.kind.rawValue, $0.recordType, $0.field, $0.order?.field ?? "") < (
                $1.kind.rawValue, $1.recordType, $1.field, $1.order?.field ?? ""
            )
        }
        var room = limit - kept.keys.count { $0.kind != .name }
        var compoundRoom = compoundLimit - kept.keys.count { $0.kind == .compound }
        let excess = missing.count { $0.kind == .compound } - compoundRoom
        for victim in victims(kept, count: excess, isVictim: { $0.kind == .compound })
            + victims(
                kept, count: missing.count { $0.kind != .name } - room - max(excess, 0),
                isVictim: { $0.kind != .name && (excess <= 0 || $0.kind != .compound) })
        {
            try giveUp(victim, in: writer)
            kept[victim.definition] = nil
            room += 1
            if victim.definition.kind == .compound { compoundRoom += 1 }
        }
        var entries = 0
        for definition in missing where definition.kind == .name || room > 0 {
            if definition.kind == .compound {
                guard compoundRoom > 0 else { continue }
                compoundRoom -= 1
            }
            let index = try RecordIndexing.createIndex(definition, in: writer)
            kept[definition] = index
            guard definition.kind != .name else { continue }
            room -= 1
            if index.phase == .building {
                entries += try recordCount(of: definition.recordType, in: writer)
            }
        }
        return (Set(kept.keys), entries)
    }

    private func giveUp(_ index: IndexRow, in writer: any StoreWriter) throws {
        var index = index
        index.phase = .dropping
        try writer.update(index)
    }

    /// The indexes to drop.
    private func victims(
        _ kept: [IndexRow.Definition: IndexRow], count: Int,
        isVictim: (IndexRow.Definition) -> Bool
    ) -> [IndexRow] {
        guard count > 0, mayReplace else { return [] }
        let candidates = kept.values.filter {
            isVictim($0.definition) && !asked.contains($0.definition)
        }
        return Array(
            candidates.sorted { left, right in
                let requests = [left, right].map { lastRequests[$0.definition] ?? 0 }
                return (requests[0], left.key.rawValue) < (requests[1], right.key.rawValue)
            }.prefix(count))
    }

    private func recordCount(of recordType: String, in writer: any StoreWriter) throws -> Int {
        guard
            let names = try writer.indexes(ofType: recordType)
                .first(where: { $0.definition.kind == .name && $0.phase != .dropping })
        else { return 0 }
        var count = 0
        for zone in try writer.zones() where count < Self.recordsCounted {
            count += try writer.entryCount(
                of: names.key, in: zone.key, within: .all, limit: Self.recordsCounted - count)
        }
        return count
    }
}
