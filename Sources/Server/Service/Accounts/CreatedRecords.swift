import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

/// The records that one user created in a database's default zone, or all of them, page by page; without the users' own
/// records.
struct CreatedRecords: Sendable {
    let store: any RecordStore
    private let search: CreatorSearch
    private var position: CreatorSearch.Position?
    private var isAtEnd = false

    /// - Parameter creator: The user who created the records; nil for those of all users.
    init(of creator: String?, in store: any RecordStore, recordTypes: [String], limits: Limits) {
        self.store = store
        search = CreatorSearch(
            creator: creator, recordTypes: recordTypes, limit: limits.recordsPerStep)
    }

    /// The names of the next page, which may be empty; nil at the end.
    mutating func next() async throws -> [String]? {
        guard !isAtEnd else { return nil }
        // Reading a page does not suspend: without this, the task would keep its thread until the last page.
        await Task.yield()
        let stretch = try await store.read { [search, position] reader in
            try reader.livingZone(named: ZoneID.defaultZoneName).map {
                try search.stretch(of: $0.key, after: position, in: reader)
            }
        }
        position = stretch?.next
        isAtEnd = position == nil
        return (stretch?.names ?? []).filter { !UsersRecord.isName($0) }
    }
}

extension OwnRequests {
    /// The records that a user created in the default zone of a request's database.
    func created(by creator: String?, in context: RequestContext) async throws -> CreatedRecords {
        let schema = try await schemas.schema(of: context.address)
        return CreatedRecords(
            of: creator, in: try await store(of: context),
            recordTypes: schema.types.keys.filter { $0 != UsersRecord.type },
            limits: context.limits)
    }

    /// Whether the caller's user record exists: it is created at its first use.
    func hasUsersRecord(in context: RequestContext) async throws -> Bool {
        let name = try context.user()
        return try await store(of: context).read { reader in
            guard let zone = try reader.livingZone(named: ZoneID.defaultZoneName) else {
                return false
            }
            return try reader.records(named: [name], in: zone.key)[name]?.isDeleted == false
        }
    }

    /// The records with these names in the default zone, as far as they exist.
    func records(
        _ names: [String], in context: RequestContext
    ) async throws -> [RecordDictionary] {
        let answer = try await answer(
            RecordsLookup.self, .init(records: names.map { .init(recordName: $0) }), in: context)
        return answer.records.compactMap {
            if case .record(let record) = $0 { record } else { nil }
        }
    }

    private func store(of context: RequestContext) async throws -> any RecordStore {
        guard let store = try await databases.store(of: context) else {
            throw ServiceError.invalid(
                "The database is neither public nor private; name one of them.")
        }
        return store
    }
}
