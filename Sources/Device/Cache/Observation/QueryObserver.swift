import GRDB
import StratusClient
import StratusRecords
import Synchronization

/// The records of one observer of a query, which it updates as they change.
final class QueryObserver: Sendable {
    private struct State {
        var results: [FoundRecord] = []
        var places: [RecordID: CompiledQuery.Place] = [:]
        var isComplete = false
    }

    private let store: CacheStore
    private let query: CompiledQuery
    private let notes: RowNotes
    private let state = Mutex(State())

    init(_ store: CacheStore, _ query: CompiledQuery, _ notes: RowNotes) {
        self.store = store
        self.query = query
        self.notes = notes
    }

    /// Reads what changed, in one snapshot of the file.
    ///
    /// - Returns: nil if nothing in the observer's results has changed.
    func update() throws -> QueryUpdate? {
        try state.withLock { state in
            let isFirst = !state.isComplete
            let taken = notes.take()
            guard isFirst || !taken.isEmpty else { return nil }
            store.file.snapshotsRead.add(1, ordering: .relaxed)
            do {
                let changes = try store.read { database in
                    try follow(taken, isFirst: isFirst, &state, database)
                }
                state.isComplete = true
                guard isFirst || !changes.isEmpty else { return nil }
                return QueryUpdate(
                    records: QueryResults(state.results, store.file), changes: changes)
            } catch {
                // The next iteration begins again.
                state = State()
                notes.forget()
                throw error
            }
        }
    }

    private func follow(
        _ taken: RowNotes.Taken, isFirst: Bool, _ state: inout State, _ database: Database
    ) throws -> [RecordChange] {
        let searchable = try store.file.types(database)[query.recordType]?.searchedFields
        // Whether each examined record was in the results before.
        var before: [RecordID: Bool] = [:]
        var isWhole = isFirst || taken.isWhole
        if !isWhole {
            let ids = Array(taken.sources.keys)
            isWhole = try read(ids, searchable, &state, &before, database)
        }
        if isWhole { try readAll(&state, &before, database) }
        let looked = Set(before.keys).union(taken.sources.keys)
        notes.finish(
            all: isWhole ? Set(state.places.keys) : nil,
            gone: looked.filter { state.places[$0] == nil }, searchable: searchable)
        if !isWhole { notes.add(members: before.keys.filter { state.places[$0] != nil }) }
        guard !isFirst else { return [] }
        return try before.compactMap { id, wasThere -> RecordChange? in
            let isThere = state.places[id] != nil
            guard wasThere || isThere else { return nil }
            let author = try taken.sources[id].map { try store.author(of: id, $0, database) }
            return RecordChange(
                recordID: CKRecord.ID(id),
                kind: !wasThere ? .inserted : isThere ? .changed : .removed,
                author: author ?? .unknown)
        }.sorted { $0.recordID.recordName < $1.recordID.recordName }
    }

    /// Runs the query again, and notes the records that were added, removed or changed.
    private func readAll(
        _ state: inout State, _ before: inout [RecordID: Bool], _ database: Database
    ) throws {
        // In a damaged file two records may have the same name.
        let former = Dictionary(state.results.map { ($0.record.id, $0.record) }) { $1 }
        var results = try store.find(query, database)
        if let limit = query.limit, results.count > limit { results.removeSubrange(limit...) }
        for found in results { _ = try found.record.record() }
        state.results = results
        state.places = Dictionary(results.map { ($0.record.id, $0.place) }) { $1 }
        for id in former.keys where state.places[id] == nil {
            before[id] = before[id] ?? true
        }
        for found in results where former[found.record.id] != found.record {
            before[found.record.id] = before[found.record.id] ?? (former[found.record.id] != nil)
        }
    }

    /// Reads single records.
    ///
    /// - Returns: whether the page now has room that records other than these may fill.
    private func read(
        _ ids: [RecordID], _ searchable: [String]?, _ state: inout State,
        _ before: inout [RecordID: Bool], _ database: Database
    ) throws -> Bool {
        let wasFull = state.results.count == query.limit
        let end = state.results.last?.place
        var isShort = false
        let rows = try store.rows(of: ids, database)
        let here = Dictionary(rows.map { ($0.record.id, $0) }) { $1 }
        for id in ids {
            var new: FoundRecord?
            if let (record, zoneKey) = here[id], query.matches(record, searchable: searchable) {
                let place = query.place(of: record, zoneKey: zoneKey)
                if query.isOnPage(place) { new = FoundRecord(record: record, place: place) }
            }
            if let old = state.places[id] {
                let index = index(of: old, state)
                if state.results[index].record == new?.record { continue }
                state.results.remove(at: index)
                state.places[id] = nil
                before[id] = true
                // A record that left a full page leaves room, and so does one that moved to its end, as others may
                // precede it.
                let stays = new.flatMap { new in
                    end.map { !query.isBefore($0, new.place) && $0 != new.place }
                }
                if wasFull, stays != true { isShort = true }
            }
            guard let new else { continue }
            _ = try new.record.record()
            state.results.insert(new, at: index(of: new.place, state))
            state.places[id] = new.place
            before[id] = before[id] ?? false
        }
        if let limit = query.limit {
            while state.results.count > limit {
                let last = state.results.removeLast()
                state.places[last.record.id] = nil
                before[last.record.id] = before[last.record.id] ?? true
            }
        }
        return isShort
    }

    /// The index at which the record with a place is, or would be inserted.
    private func index(of place: CompiledQuery.Place, _ state: State) -> Int {
        var (low, high) = (0, state.results.count)
        while low < high {
            let middle = (low + high) / 2
            if query.isBefore(state.results[middle].place, place) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
