import StratusMatching
import StratusRecords
import StratusSQLite
import StratusTesting
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusService
@testable import StratusStorage

/// The rows of other tables that are derived from a database's records, each as a line of text.
struct DerivedRows: Equatable {
    var entries: Set<String> = []
    var references: Set<String> = []
    var ancestors: Set<String> = []
    var holders: Set<String> = []
    var shares: Set<String> = []
    var access: Set<String> = []
    var recordBytes: Int64 = 0

    /// The rows that are stored.
    static func stored(
        in storage: SQLiteStorageEngine, at address: DatabaseAddress
    ) async throws -> DerivedRows {
        try await storage.withDatabase(of: address) { file in
            try await file.read(.zone) { database in
                func lines(_ sql: String) throws -> Set<String> {
                    Set(try SQLStatement(database, sql).all { $0.text(0) })
                }
                return DerivedRows(
                    entries: try lines(
                        """
                        SELECT zone || ' ' || index_id || ' ' || hex(key) || ' ' || name
                        FROM record_index JOIN index_definition USING (index_id) WHERE phase <> 2
                        """),
                    references: try lines(
                        "SELECT zone || ' ' || holder || ' ' || action || ' ' || target FROM reference_"
                    ),
                    ancestors: try lines("SELECT zone || ' ' || replaced_at FROM record_ancestor"),
                    holders: try lines(
                        "SELECT zone || ' ' || name || ' ' || hex(sha256) FROM asset_reference"),
                    shares: try lines(
                        """
                        SELECT zone || ' ' || name || ' ' || coalesce(root, '-') || ' ' || short_guid
                        FROM share
                        """),
                    access: try lines(
                        """
                        SELECT zone || ' ' || share || ' ' || user || ' ' || can_write || ' ' || since
                        FROM share_access
                        """),
                    recordBytes: try SQLStatement(database, "SELECT bytes FROM record_usage")
                        .first { $0.integer(0) } ?? 0)
            }
        }
    }

    /// The rows that the stored records require.
    static func expected(from store: any RecordStore) async throws -> DerivedRows {
        try await store.read(.zone) { reader in
            var rows = DerivedRows()
            let indexes = try reader.indexes().filter { $0.phase != .dropping }
            for zone in try reader.zones() {
                let page = try reader.changes(in: zone.key, after: .beginning, limit: .max)
                for row in page.rows where !row.isDeleted {
                    try rows.add(row, indexes, reader)
                }
            }
            return rows
        }
    }

    private mutating func add(
        _ row: RecordRow, _ indexes: [IndexRow], _ reader: any StoreReader
    ) throws {
        let zone = row.zone.rawValue
        let values = try RecordValues(row)
        for index in indexes where index.definition.recordType == row.type {
            for key in index.definition.keys(of: values) {
                entries.insert(
                    "\(zone) \(index.key.rawValue) \(Hexadecimal.text(key).uppercased()) \(row.name)"
                )
            }
        }
        for reference in try ActingReference.all(in: row.payload) {
            references.insert(
                "\(zone) \(row.name) \(reference.action.rawValue) \(reference.target)")
        }
        for state in try reader.ancestors(of: row) {
            ancestors.insert("\(zone) \(state.replacedAt)")
        }
        for blob in StoredAssets.blobs(in: row.payload) {
            holders.insert(
                "\(zone) \(row.name) \(Hexadecimal.text(blob.sha256).uppercased())")
        }
        let sharing = try RecordSharing(row)
        if let share = sharing.share {
            shares.insert(
                "\(zone) \(row.name) \(share.root ?? "-") \(sharing.shortGUID ?? "no link")")
            for one in share.access(by: row.name) {
                access.insert(
                    "\(zone) \(one.share) \(one.user) \(one.canWrite ? 1 : 0) \(one.since)")
            }
        }
        recordBytes += row.sizeBytes
    }
}

extension ChangeCursor {
    fileprivate static let beginning = ChangeCursor(
        version: 0, skipTombstonesThrough: 0, device: "")
}

/// Checks that a database's derived rows match its records.
func expectDerivedRowsFit(
    _ storage: SQLiteStorageEngine, _ address: DatabaseAddress, _ comment: Comment? = nil
) async throws {
    let stored = try await DerivedRows.stored(in: storage, at: address)
    let expected = try await DerivedRows.expected(from: storage.store(for: address))
    #expect(stored.entries == expected.entries, comment)
    #expect(stored.references == expected.references, comment)
    #expect(stored.ancestors == expected.ancestors, comment)
    #expect(stored.holders == expected.holders, comment)
    #expect(stored.shares == expected.shares, comment)
    #expect(stored.access == expected.access, comment)
    #expect(stored.recordBytes == expected.recordBytes, comment)
}

/// A service whose storage a test can inspect.
struct StoredWorld {
    let storage: SQLiteStorageEngine
    let world: World

    init(limits: Limits = Limits()) {
        storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        world = World(storage, limits: limits)
    }

    func database(of person: Person) -> DatabaseAddress {
        DatabaseAddress(world.address, .private(owner: person.name))
    }

    /// Checks the derived rows of these people's private databases, and runs the doctor.
    func expectHealth(of people: Person..., comment: Comment? = nil) async throws {
        for person in people {
            try await expectDerivedRowsFit(storage, database(of: person), comment)
        }
        #expect(try await Doctor(storage: storage).examine().findings == [], comment)
    }
}
