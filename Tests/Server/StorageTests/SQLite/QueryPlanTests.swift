import GRDB
import StratusRecords
import Synchronization
import Testing

@testable import StratusStorage

/// Every statement of a request uses an index: its cost depends on what is requested, not on what is stored.
@Suite struct QueryPlanTests {
    private static let zone = ZoneRow.Key(rawValue: 1)
    private static let index = IndexRow.Key(rawValue: 1)
    private static let bounds = (
        IndexEntry(key: [1], name: "a"), IndexEntry(key: [2], name: "b")
    )
    private static let cursor = ChangeCursor(
        version: 1, skipTombstonesThrough: 5, device: "phone")

    struct Request: Sendable, CustomStringConvertible {
        var description: String
        var index: String
        var run: @Sendable (any RecordTransaction) throws -> Void
    }

    private static let requests = [
        Request(description: "asset", index: "SEARCH asset USING PRIMARY KEY") {
            _ = try $0.asset([1])
        },
        Request(
            description: "assets of a record", index: "SEARCH asset_reference USING PRIMARY KEY"
        ) { try $0.setAssets([], of: "a", in: zone) },
        Request(description: "unreferenced assets", index: "asset_unreferenced") {
            _ = try $0.takeUnreferencedAssets(touchedBefore: 1, limit: 2)
        },
        Request(description: "unreferenced assets of a user", index: "asset_unreferenced") {
            _ = try $0.unreferencedAssets(generationPrefix: 1, amongLast: 2)
        },
        Request(description: "newly unreferenced assets", index: "asset_unreferenced") {
            try $0.touchUnreferencedAssets(atMilliseconds: 1)
        },
        Request(description: "changes", index: "record_by_version") {
            _ = try $0.changes(in: zone, after: cursor, limit: 10)
        },
        Request(description: "purge", index: "record_tombstone") {
            try $0.purgeTombstones(through: 3, in: zone)
        },
        Request(description: "old tombstones", index: "COVERING INDEX record_tombstone") {
            _ = try $0.oldTombstones(before: 5, in: zone, limit: 3)
        },
        Request(description: "counts", index: "COVERING INDEX record_by_version") {
            _ = try $0.counts(of: zone)
        },
        Request(description: "sources", index: "PRIMARY KEY") {
            _ = try $0.holders(of: "a", .deleteSelf, in: zone, limit: 2)
        },
        Request(description: "ancestor", index: "record_ancestor_by_version") {
            _ = try $0.ancestor(replacedAt: 3, in: zone)
        },
        Request(description: "forgetting ancestors", index: "record_ancestor_by_version") {
            try $0.deleteAncestors(replacedThrough: 3, in: zone)
        },
        Request(description: "size of ancestors", index: "record_ancestor_by_version") {
            _ = try $0.ancestorBytes(replacedAfter: 3, before: 9, in: zone)
        },
        Request(description: "ancestors beyond a size", index: "record_ancestor_by_version") {
            try $0.deleteAncestors(beyondBytes: 3, in: zone)
        },
        Request(description: "records", index: "record_by_name") {
            _ = try $0.records(named: ["a"], in: zone)
        },
        Request(description: "scan", index: "record_by_name") {
            try $0.scan(type: "T", in: zone, after: nil) { _ in true }
        },
        Request(description: "records of all types", index: "record_by_name") {
            _ = try $0.records(in: zone, after: "a", limit: 2, payloadBytes: 9)
        },
        Request(description: "entries", index: "record_index USING PRIMARY KEY") {
            _ = try $0.entries(
                of: index, in: zone, between: bounds, isAscending: true, limit: 3)
        },
        Request(description: "entries backwards", index: "record_index USING PRIMARY KEY") {
            _ = try $0.entries(
                of: index, in: zone, between: bounds, isAscending: false, limit: 3)
        },
        Request(description: "count of entries", index: "record_index USING PRIMARY KEY") {
            _ = try $0.entryCount(of: index, in: zone, between: bounds, limit: 3)
        },
        Request(description: "removal of an entry", index: "record_index USING PRIMARY KEY") {
            try $0.delete(bounds.0, of: index, in: zone)
        },
        Request(description: "indexes of a type", index: "index_definition_by_type") {
            _ = try $0.indexes(ofType: "T")
        },
        Request(description: "children", index: "record_by_parent") {
            _ = try $0.children(of: "a", in: zone, limit: 2)
        },
        Request(description: "children after one", index: "record_by_parent") {
            _ = try $0.children(of: "a", after: "b", in: zone, limit: 2, payloadBytes: 9)
        },
        Request(description: "whether a share covers any", index: "record_by_share_root") {
            _ = try $0.hasRecords(under: "a", in: zone)
        },
        Request(description: "what is left to do", index: "SEARCH long_change USING PRIMARY KEY") {
            _ = try $0.longChanges(.deletion, limit: 2)
        },
        Request(description: "view of a share", index: "record_by_share_root") {
            _ = try $0.sharedChanges(
                in: zone, roots: ["a", "b"], after: cursor, limit: 10, payloadBytes: .max)
        },
        Request(description: "what left a view", index: "share_event_by_version") {
            _ = try $0.sharedChanges(
                in: zone, roots: ["a"], after: cursor, limit: 10, payloadBytes: .max)
        },
        Request(description: "view of many shares", index: "record_by_version") {
            _ = try $0.sharedChanges(
                in: zone, roots: (0..<99).map { "\($0)" }, after: cursor, limit: 10,
                payloadBytes: .max)
        },
        Request(description: "newest of a view", index: "record_by_share_root") {
            _ = try $0.sharedVersion(of: zone, roots: ["a"])
        },
        Request(description: "descendants", index: "record_by_parent") {
            _ = try $0.descendants(of: "a", in: zone, limit: 2, payloadBytes: .max)
        },
        Request(description: "database feed", index: "sqlite_autoindex_zone_2") {
            _ = try $0.zones(changedAfter: 1, deletedAfter: 1, limit: 2)
        },
        Request(
            description: "expiry",
            index: "SEARCH applied_operation USING INDEX applied_operation_by_expiry"
        ) { try $0.deleteOutcomes(expiredAt: 1) },
        Request(description: "outcome", index: "applied_operation_by_key") {
            _ = try $0.outcome(of: OperationKey(user: "_a", device: "d", operation: "o"))
        },
    ]

    @Test(arguments: requests)
    func requestUsesItsIndex(request: Request) async throws {
        let found = try await plans(of: request.run)
        #expect(found.contains { $0.contains(request.index) }, "\(found)")
        // Both ends of a range of entries are found by the key, not by reading up to them.
        #expect(!found.contains { $0.contains("SEARCH record_index") && !$0.contains("key") })
        // The intermediate results of a recursion are not a table.
        let scans = found.filter { $0.hasPrefix("SCAN") && $0 != "SCAN below" }
        #expect(scans.isEmpty && !found.contains { $0.contains("TEMP B-TREE") })
    }

    /// Deleted zones keep their rows, and looking up each by its name would take ten times as long.
    @Test func listOfZonesReadsTheTableInItsOrder() async throws {
        let found = try await plans { _ = try $0.zones() }
        #expect(found.contains("SCAN zone"), "\(found)")
    }

    private func plans(
        of run: @escaping @Sendable (any RecordTransaction) throws -> Void
    ) async throws -> [String] {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let address = DatabaseAddress(
                ContainerAddress(container: "c", environment: .production), .public)
            let found: [String] = try await storage.withDatabase(of: address) { file in
                try await file.write { try plans(of: run, in: $0) }
            }
            try await storage.close()
            return found
        }
    }

    /// SQLite's query plan for each statement of a request.
    private func plans(
        of request: (any RecordTransaction) throws -> Void, in database: Database
    ) throws -> [String] {
        let statements = Mutex<[String]>([])
        database.trace { event in
            if case .statement(let statement) = event {
                statements.withLock { $0.append(statement.sql) }
            }
        }
        try request(SQLiteTransaction(database))
        database.trace(options: [])
        return try statements.withLock { $0 }.flatMap { sql in
            let plan = try database.makeStatement(sql: "EXPLAIN QUERY PLAN \(sql)")
            // The values make no difference without statistics.
            plan.setUncheckedArguments([])
            return try Row.fetchAll(plan).map { row -> String in row["detail"] }
        }
    }
}
