import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Synchronization

/// The changes since an observer last read that concern the observer.
///
/// Each write calls ``add(_:)``: a record of another type, or one that did not match before and does not match now, is
/// ignored at once and wakes no observer. Only IDs are kept: the observer reads the rows in one snapshot, so the order
/// in which it is notified of transactions does not matter.
final class RowNotes: Sendable {
    enum Interest: Sendable {
        case query(CompiledQuery)
        case record(RecordID)
    }

    /// The source of a change, noted before the user is read from the file.
    enum Source: Sendable {
        case app
        case service(modifier: String?)
        /// Another process with the file; its queue shows whether it was an edit.
        case otherProcess(modifier: String?)
    }

    struct Taken: Sendable {
        var sources: [RecordID: Source] = [:]
        /// Whether everything may have changed.
        var isWhole = false

        var isEmpty: Bool { sources.isEmpty && !isWhole }
    }

    private struct State {
        var taken = Taken()
        /// The records that the observer has or is reading; nil while it reads everything.
        var members: Set<RecordID>?
        var searchable: [String]?
    }

    let scope: CKDatabase.Scope
    let interest: Interest
    private let state = Mutex(State())

    init(_ interest: Interest, in scope: CKDatabase.Scope) {
        self.interest = interest
        self.scope = scope
    }

    /// - Returns: whether the observer must read again.
    func add(_ outcome: CacheOutcome) -> Bool {
        guard outcome.scope == scope else { return false }
        if outcome.isWhole {
            state.withLock { $0.taken.isWhole = true }
            return true
        }
        guard !outcome.rows.isEmpty || outcome.fetched != nil else { return false }
        return state.withLock { state in
            var isConcerned = false
            if let fetched = outcome.fetched {
                for row in fetched.rows where concerns(row, in: fetched, state) {
                    state.taken.sources[fetched.id(row)] = outcome.source(
                        modifier: row.system.modifierRecordName)
                    isConcerned = true
                }
            }
            for (id, written) in outcome.rows where concerns(id, written, state) {
                state.taken.sources[id] = outcome.source(of: written)
                isConcerned = true
            }
            return isConcerned
        }
    }

    /// Whether a record that was not here before concerns the observer.
    private func concerns(_ row: FetchedRow, in fetched: FetchedRows, _ state: State) -> Bool {
        switch interest {
        case .record(let wanted): return row.name == wanted.name && fetched.zone == wanted.zoneID
        case .query(let query):
            if query.zoneID != nil, query.zoneID != fetched.zone { return false }
            // Another record with its name may have been removed in the same transaction.
            guard row.type == query.recordType else {
                return state.members?.contains(fetched.id(row)) == true
            }
            // A row that cannot be read counts as a match: the observer reads it and throws the error.
            guard state.members != nil, let record = try? row.snapshot(in: fetched.zone) else {
                return true
            }
            return state.members?.contains(record.id) == true
                || query.matches(record, searchable: state.searchable)
        }
    }

    private func concerns(_ id: RecordID, _ written: WrittenRow, _ state: State) -> Bool {
        switch interest {
        case .record(let wanted): return id == wanted
        case .query(let query):
            if query.zoneID != nil, query.zoneID != id.zoneID { return false }
            if state.members?.contains(id) == true { return true }
            switch written {
            case .put(let record):
                return record.type == query.recordType
                    && (state.members == nil || query.matches(record, searchable: state.searchable))
            case .system: return state.members == nil || query.readsSystem
            case .removed: return state.members == nil
            }
        }
    }

    /// Takes the notes. Until ``finish(all:gone:searchable:)`` every change that may concern the records being read is
    /// noted.
    func take() -> Taken {
        state.withLock { state in
            defer { state.taken = Taken() }
            if state.taken.isWhole {
                state.members = nil
            } else {
                state.members?.formUnion(state.taken.sources.keys)
            }
            return state.taken
        }
    }

    /// Sets what the observer has now: which of the records that it read are gone; or, if it read everything, all that
    /// it has.
    func finish(all members: Set<RecordID>?, gone: Set<RecordID>, searchable: [String]?) {
        state.withLock { state in
            if let members { state.members = members }
            state.members?.subtract(gone)
            state.searchable = searchable
        }
    }

    /// Adds records that the observer has.
    func add(members: [RecordID]) {
        state.withLock { $0.members?.formUnion(members) }
    }

    /// Notes that the taken records could not be read, so that everything is read next.
    func forget() {
        state.withLock { state in
            state.taken.isWhole = true
            state.members = nil
        }
    }
}

extension CacheOutcome {
    fileprivate func source(of written: WrittenRow) -> RowNotes.Source {
        switch written {
        case .put(let record): return source(modifier: record.system?.modifierRecordName)
        // Changes of system fields alone are the service's answers to changes that were saved here.
        case .system: return .app
        case .removed: return source(modifier: nil)
        }
    }

    fileprivate func source(modifier: String?) -> RowNotes.Source {
        isOfOtherProcess
            ? .otherProcess(modifier: modifier) : isLocal ? .app : .service(modifier: modifier)
    }
}

extension CacheStore {
    /// Who changed a record.
    func author(
        of id: RecordID, _ source: RowNotes.Source, _ database: Database
    ) throws -> ChangeAuthor {
        let name: String?
        switch source {
        case .app: return .thisDevice
        case .otherProcess(let modifier):
            if let zone = try zone(id.zoneID, database),
                try pending(id.name, zone, database) != nil
            {
                return .thisDevice
            }
            name = modifier
        case .service(let modifier): name = modifier
        }
        // The service may leave the user out.
        guard let name, !name.isEmpty else { return .unknown }
        let user = try flag(.userRecordName, database)
        if name == ZoneID.currentUserName || name == user { return .otherDevice }
        return .person(CKRecord.ID(recordName: name))
    }
}
