import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSQLite
import StratusSync

/// Reads a cache's file without changing it, even while an app runs.
package struct CacheInspection {
    /// The maximum number of queued changes in a report.
    static let queueLimit = 1_000
    /// The number of characters of a token that are shown.
    static let tokenLength = 8

    let database: GRDB.Database
    let path: String

    init(_ database: GRDB.Database, path: String) {
        self.database = database
        self.path = path
    }

    /// Opens a file to read it.
    ///
    /// - Throws: ``CacheError``: `damaged` if it is not a cache or cannot be read, `newerFormat`,
    ///   or `unwritable` if it cannot be opened.
    package static func look<Value>(
        atFile path: String, _ body: (CacheInspection) throws -> Value
    ) throws -> Value {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CacheError(.unwritable, "There is no cache file at \(path). Check the path.")
        }
        do {
            // One snapshot for all reads, even if the file is written meanwhile.
            return try CacheFormat.openToRead(path).read { database in
                let inspection = CacheInspection(database, path: path)
                try inspection.checkKind()
                return try body(inspection)
            }
        } catch let error as DatabaseError {
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                throw CacheError(
                    .damaged, "The file \(path) is damaged, or is not a cache. Check the path.",
                    cause: error)
            default:
                throw CacheError(
                    .unwritable,
                    "The file \(path) cannot be opened. Copy it to a folder of your own.",
                    cause: error)
            }
        }
    }

    private func checkKind() throws {
        do {
            try CacheFormat.format.check(database, path: path)
        } catch DatabaseRefusal.newerFormat {
            throw CacheError(
                .newerFormat, "A newer release wrote the cache \(path). Use that release.")
        } catch DatabaseRefusal.otherKind {
            throw CacheError(.damaged, "The file \(path) is not a cache. Check the path.")
        }
        guard try CacheFormat.format.isOfNewestFormat(database) else {
            throw CacheError(
                .damaged,
                "The file \(path) is of an earlier format. Open it once with the app, which updates it."
            )
        }
    }

    package func report(made: Date, includingValues: Bool) throws -> DiagnosticsReport {
        DiagnosticsReport(
            made: made,
            format: try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0,
            userRecordName: try flag(.userRecordName, 0), account: try flag(.account, 0),
            isEnabled: try flag(.isDisabled, 0) == nil, status: [],
            databases: try databases(), zones: try zones(),
            queue: try queue(includingValues: includingValues),
            queueCount: try Int.fetchOne(database, sql: "SELECT count(*) FROM pending") ?? 0,
            reports: try counts("SELECT kind, count(*) FROM report GROUP BY kind"),
            events: try CacheFile.events(database), rowCounts: try rowCounts(),
            fileBytes: fileBytes())
    }

    private func flag(_ flag: CacheFlag, _ scope: Int) throws -> String? {
        try CacheFlag.value(named: flag.rawValue, ofDatabase: scope, database)
    }

    private func databases() throws -> [DiagnosticsReport.Database] {
        let scopes = try Int.fetchAll(
            database,
            sql: """
                SELECT database FROM zone UNION SELECT database FROM flag WHERE database > 0 ORDER BY 1
                """)
        return try scopes.map { scope in
            func date(_ name: CacheFlag) throws -> Date? {
                try flag(name, scope).flatMap { Int64($0) }.map(CacheStore.date)
            }
            return DiagnosticsReport.Database(
                scope: scope, changeToken: Self.shortened(try flag(.databaseToken, scope)),
                isSubscriptionSaved: try flag(.isSubscriptionSaved, scope) != nil,
                clockOffsetMilliseconds: try flag(.clockOffset, scope).flatMap { Int64($0) } ?? 0,
                lastFetch: try date(.lastFetch), lastSend: try date(.lastSend))
        }
    }

    private func zones() throws -> [DiagnosticsReport.Zone] {
        let statement = try SQLStatement(
            database,
            """
            SELECT \(CachedZoneRow.columns), database, needsFetch,
                (SELECT count(*) FROM record WHERE zone = zone.id) FROM zone ORDER BY id
            """)
        return try statement.all { row in
            let zone = try CachedZoneRow(row)
            let scope = Int(try row.storedInteger(7))
            return DiagnosticsReport.Zone(
                scope: scope, name: zone.id.name, owner: zone.id.ownerName,
                state: "\(zone.state)", changeToken: Self.shortened(zone.token),
                needsFetch: try row.storedInteger(8) != 0, isRefetching: zone.isRefetching,
                progress: try FetchProgress.read(
                    FetchProgress.flagName(zone.key), scope, database)?.summary,
                recordCount: Int(row.integer(9)))
        }
    }

    private func queue(includingValues: Bool) throws -> [DiagnosticsReport.Change] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT \(PendingRow.columns), zone.name, zone.owner, zone.database, record.fields
                FROM pending JOIN zone ON zone.id = pending.zone
                LEFT JOIN record ON \(CacheFormat.isOfPending)
                ORDER BY sequence LIMIT \(Self.queueLimit)
                """)
        return try rows.map { row in
            let count = PendingRow.columnCount
            let zone = ZoneID(
                name: try row.decode(atIndex: count), ownerName: try row.decode(atIndex: count + 1))
            let pending = try PendingRow(row, zone: zone)
            let fields: [Field] = try row.withUnsafeData(atIndex: count + 3) { data in
                try data?.withUnsafeBytes { try StoredFields.decode($0) } ?? []
            }
            return DiagnosticsReport.Change(
                scope: try row.decode(atIndex: count + 2), zone: zone.name,
                name: pending.change.id.name,
                kind: "\(pending.change.kind)", edited: CacheStore.date(pending.editedMilliseconds),
                generation: pending.change.generation,
                conflictRounds: pending.change.conflictRounds, attempts: pending.change.attempts,
                delivery: "\(pending.delivery)",
                failure: pending.failure.map { "\($0.code) \($0.message)" },
                fields: Dictionary(
                    fields.map { field in
                        (field.name, includingValues ? field.value.map { "\($0)" } : nil)
                    }, uniquingKeysWith: { $1 }))
        }
    }

    private func counts(_ sql: String) throws -> [String: Int] {
        let rows = try Row.fetchAll(database, sql: sql)
        let counts = try rows.map { row in
            (try row.decode(String.self, atIndex: 0), try row.decode(Int.self, atIndex: 1))
        }
        return Dictionary(counts) { $1 }
    }

    private func rowCounts() throws -> [String: Int] {
        let tables = try String.fetchAll(
            database,
            sql: """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                """)
        return try tables.reduce(into: [:]) { counts, table in
            let name = table.replacing("\"", with: "\"\"")
            counts[table] = try Int.fetchOne(database, sql: "SELECT count(*) FROM \"\(name)\"")
        }
    }

    private func fileBytes() -> [String: Int] {
        var sizes: [String: Int] = [:]
        for suffix in ["", "-wal", "-shm"] {
            // If a file is missing or cannot be read, the report only lacks its size.
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
            guard let size = attributes?[.size] as? Int else { continue }
            sizes[suffix.isEmpty ? "file" : String(suffix.dropFirst())] = size
        }
        return sizes
    }

    private static func shortened(_ token: String?) -> String? {
        guard let token, token.count > tokenLength else { return token }
        return token.prefix(tokenLength) + "…"
    }
}
