import Foundation
import GRDB
import StratusRecords
import StratusSync

/// An edit of one record: the fields that it sets, or removes with nil.
package struct LocalEdit: Sendable {
    package enum Parent: Sendable {
        case unchanged
        case set(String?)
    }

    package var id: RecordID
    package var type: String
    package var changes: [Field]
    /// All fields, for a record that is not here yet.
    package var initial: [Field]
    package var parent: Parent

    package init(
        id: RecordID, type: String, changes: [Field], initial: [Field] = [],
        parent: Parent = .unchanged
    ) {
        self.id = id
        self.type = type
        self.changes = changes
        self.initial = initial
        self.parent = parent
    }
}

/// What an app does, online or not.
extension CacheStore {
    /// Writes edits and deletions with their pending changes, in one transaction.
    ///
    /// - Returns: the news, and zones that must be created.
    func commit(
        edits: [LocalEdit], deletions: [RecordID]
    ) throws -> (news: CacheNews, wantedZones: [ZoneID]) {
        let now = clock.wallMilliseconds()
        var wanted: [ZoneID] = []
        let news = try write { database, news in
            var zones: [ZoneID: ZoneRow] = [:]
            func zoneRow(_ id: ZoneID) throws -> ZoneRow {
                if let known = zones[id] { return known }
                let row = try wantedZone(id, &wanted, database)
                zones[id] = row
                return row
            }
            for edit in edits {
                let zone = try zoneRow(edit.id.zoneID)
                if try apply(edit, zone, now, database) { news.changedIDs.insert(edit.id) }
            }
            for id in deletions {
                let zone = try zoneRow(id.zoneID)
                if try delete(id.name, zone, now, database) { news.changedIDs.insert(id) }
            }
        }
        return (news, wanted)
    }

    /// Makes sure that a zone is known; one that was to be deleted is wanted again.
    func wantedZone(
        _ id: ZoneID, _ wanted: inout [ZoneID], _ database: Database
    ) throws -> ZoneRow {
        let state: ZoneRow.State = id.isDefault ? .existing : .wanted
        var row = try zone(id, orMake: state, database)
        if row.state == .unwanted {
            try database.execute(
                sql: "UPDATE zone SET state = 3 WHERE id = ?", arguments: [row.key])
            row.state = .replaced
        }
        if row.state == .wanted || row.state == .replaced { wanted.append(id) }
        return row
    }

    /// - Returns: whether anything changed.
    private func apply(
        _ edit: LocalEdit, _ zone: ZoneRow, _ now: Int64, _ database: Database
    ) throws -> Bool {
        let old = try record(edit.id.name, zone, database)
        var pending = try pending(edit.id.name, zone, database)
        // A record that was deleted here and comes again is still the service's record underneath.
        var new = old ?? RecordSnapshot(id: edit.id, type: edit.type, system: pending?.base?.system)
        if old == nil { new.setFields(edit.initial) }
        for field in edit.changes { new.set(field) }
        if case .set(let parent) = edit.parent { new.parentRecordName = parent }
        if let old, old.hasSameContent(as: new) { return false }
        let edited = stamp(&new, now, after: pending?.editedMilliseconds)
        try put(new, zone, database)
        if var row = pending {
            if row.change.kind == .save, let old { row.earlier.append(old.digest) }
            row.change = row.change.followed(by: .save)
            row.editedMilliseconds = edited
            row.failure = nil
            try update(row, database)
            pending = row
        } else {
            try queue(
                .save, edit.id.name, zone, base: old?.system == nil ? nil : old,
                editedMilliseconds: edited, database)
        }
        return true
    }

    /// Notes the time of an edit, in the edit-date field too; always later than the edit before it, so
    /// that of two quick edits, or of two by clocks that disagree, the second counts as the later.
    private func stamp(_ record: inout RecordSnapshot, _ now: Int64, after last: Int64?) -> Int64 {
        var edited = max(now, (last ?? .min) &+ (last == nil ? 0 : 1))
        guard let editDateKey else { return edited }
        if case .timestamp(let previous) = record[editDateKey] {
            edited = max(edited, previous == .max ? .max : previous + 1)
        }
        record[editDateKey] = .timestamp(milliseconds: edited)
        return edited
    }

    /// - Returns: whether there was anything to delete.
    private func delete(
        _ name: String, _ zone: ZoneRow, _ now: Int64, _ database: Database
    ) throws -> Bool {
        guard let old = try record(name, zone, database) else { return false }
        try removeRecord(name, zone, database)
        if var row = try pending(name, zone, database) {
            row.change = row.change.followed(by: .delete)
            row.editedMilliseconds = now
            row.failure = nil
            try update(row, database)
        } else {
            try queue(
                .delete, name, zone, base: old.system == nil ? nil : old, editedMilliseconds: now,
                database)
        }
        return true
    }
}

extension RecordSnapshot {
    /// Sets a field with all that belongs to it, or removes it when it has no value.
    mutating func set(_ field: Field) {
        self[field.name] = nil
        guard field.value != nil else { return }
        setFields(fields + [field])
    }
}
