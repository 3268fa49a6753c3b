import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import TestSeeds
import Testing

@testable import StratusCache

/// A damaged byte can give a column any value that SQLite does not notice. The app gets an error and then a working
/// file; its process does not end.
@Suite(.timeLimit(.minutes(20))) struct DamagedRowTests {
    /// The values that replace a column's value, as SQL.
    private static let values = ["NULL", "''", "'x'", "x'FF'", "\(Int64.max)", "\(Int64.min)"]

    struct Damage: Sendable, CustomTestStringConvertible {
        var column: Column
        var value: String
        var condition = "TRUE"

        var testDescription: String { "\(column.table).\(column.name) = \(value)" }
    }

    /// Numbers that overflow when one is added, and names that do not find their own rows.
    private static let found = [
        ("asset", "key", "x'FF'"), ("change", "database", "\(Int64.min)"),
        ("change", "id", "\(Int64.max)"), ("event", "id", "\(Int64.max)"),
        ("pending", "generation", "\(Int64.max)"), ("pending", "name", "x'FF'"),
    ]

    /// NULL in every column, and some of the other values in random columns.
    static func damages() throws -> [Damage] {
        let columns = try columns()
        let others = try Seeds.forTest("DamagedRowTests", count: 16).map { seed in
            var random = SeededNumbers(seed: seed)
            return Damage(
                column: try #require(columns.randomElement(using: &random)),
                value: try #require(values.randomElement(using: &random)))
        }
        return columns.filter { !$0.isKey }.map { Damage(column: $0, value: "NULL") } + others
            + found.map {
                Damage(column: Column(table: $0.0, name: $0.1, isKey: false), value: $0.2)
            }
    }

    struct Column: Sendable {
        var table: String
        var name: String
        /// SQLite itself keeps the key of a table's rows from being NULL.
        var isKey: Bool
    }

    private static let types = [CachedType("Item", indexed: ["text"], searchable: ["text"])]

    /// Every column of every table of a file that has a declared type and a result of the public database.
    static func columns() throws -> [Column] {
        let file = try CacheFile(memory: MemoryCacheFile(), world: .live)
        try file.declare(types)
        try file.keep([], for: "query", nowMilliseconds: 1)
        return try file.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT own.name, field.name, field.pk > 0
                    FROM sqlite_schema AS own, pragma_table_info(own.name) AS field
                    WHERE own.type = 'table' AND own.name <> 'sqlite_sequence'
                    ORDER BY own.name, field.cid
                    """
            ).map { row in
                Column(
                    table: try row.decode(atIndex: 0), name: try row.decode(atIndex: 1),
                    isKey: try row.decode(atIndex: 2))
            }
        }
    }

    @Test(arguments: try damages())
    func anyDamagedValueEndsWithAWorkingFile(_ damage: Damage) async throws {
        let cloud = RealService(pageSize: 100)
        let phone = try await device(cloud)
        var isDamaged = false
        var errors: [any Error] = []
        func attempt(_ body: () async throws -> Void) async -> Bool {
            do {
                try await body()
                return true
            } catch {
                errors.append(error)
                return false
            }
        }
        _ = await attempt {
            try phone.restart { isDamaged = try make(damage, inFileAt: phone.path) }
        }
        guard isDamaged else { return }
        var isWell = false
        for _ in 0..<4 where !isWell {
            isWell = await attempt { try await use(phone) }
            if !isWell { _ = await attempt { try phone.restart() } }
        }
        // A damaged name may be refused by the service for good, but not by this device's own file.
        let last = errors.last as? CacheError
        #expect(isWell || [.halted, .notSynced, .newerFormat].contains(last?.code), "\(errors)")
        let asides = try phone.asides()
        if isWell, !asides.isEmpty {
            #expect(try await phone.texts() == cloud.texts())
            let violations = try CacheInspection.look(atFile: phone.path) { try $0.violations() }
            #expect(violations.isEmpty)
        }
        for aside in asides {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: aside)
        }
    }

    /// An unreadable row does not lose the others.
    @Test(arguments: ["generation", "baseFields", "name"])
    func otherPendingChangesAreSalvagedFromADamagedTable(_ name: String) async throws {
        let phone = try await device(RealService(pageSize: 100))
        try phone.restart {
            let damage = Damage(
                column: Column(table: "pending", name: name, isKey: false),
                value: name == "baseFields" ? "'x'" : "NULL", condition: "name = 'r1'")
            _ = try make(damage, inFileAt: phone.path)
            DamageMark(cachePath: phone.path).set("")
        }
        let report = try #require(try await phone.cache.reports().first)
        guard case .fileDamaged(_, let saves, let deletions, let unreadable) = report.event else {
            Issue.record("The unsent changes are not offered.")
            return
        }
        #expect(saves.map(\.recordID.recordName) == ["new"])
        #expect(deletions.map(\.recordName) == ["r2"])
        // Without its name the record is unknown.
        #expect(unreadable.map(\.recordName) == (name == "name" ? [] : ["r1"]))
        for aside in try phone.asides() {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: aside)
        }
    }

    private func edit(_ name: String, _ text: String) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: name, zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string(text))])
    }

    /// A device with at least one row in every table.
    private func device(_ cloud: RealService) async throws -> Device {
        let phone = try Device(cloud)
        try phone.cache.file.declare(Self.types)
        try phone.cache.save((1..<4).map { edit("r\($0)", "text \($0)") })
        try await phone.sync()
        try phone.cache.save(
            [edit("r1", "edited"), edit("new", "made here")],
            deleting: [RecordID(name: "r2", zoneID: .list)])
        let id = RecordID(name: "r3", zoneID: .list)
        let snapshot = try #require(try phone.cache.snapshot(id))
        try phone.cache.file.keep([snapshot], for: "query", nowMilliseconds: 1)
        try phone.cache.file.answerSync(
            try phone.cache.file.askForSync(of: .private), of: .private, trouble: "")
        try phone.cache.file.write { database in
            let store = phone.cache.store
            try store.keepReports(
                of: [.recordsMissing([try snapshot.record()])], database)
            try database.execute(
                sql: """
                    INSERT INTO tombstone (database, owner, zone, name, deleted)
                        SELECT database, owner, name, 'r0', 1 FROM zone;
                    INSERT INTO encryptedField VALUES ('Secret', 'text');
                    INSERT INTO asset VALUES ('key', 'file', 10);
                    INSERT INTO assetUse SELECT 0, id, 'image', 'key', 10 FROM record
                        WHERE name = 'r3';
                    INSERT INTO assetUse SELECT 0, id, 'image', 'other', 10 FROM record
                        WHERE name = 'r3';
                    INSERT INTO assetReceipt SELECT 'key', id, '{}', 1 FROM zone;
                    INSERT INTO flag SELECT database, 'applied/' || id, '3 4' FROM zone;
                    """)
        }
        return phone
    }

    /// Gives a column of a closed file this value in all rows, except where it must be unique.
    ///
    /// - Returns: False if SQLite cannot store the value, such as text in the key of a table's rows.
    private func make(_ damage: Damage, inFileAt path: String) throws -> Bool {
        let column = damage.column
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer {
            // The cache opens the file next, and reports any problem with it.
            try? queue.close()
        }
        return try queue.inDatabase { database in
            // Damage ignores the schema's constraints and triggers.
            try database.execute(
                sql: """
                    CREATE TEMP TABLE kept AS SELECT rowid AS place, * FROM sqlite_schema;
                    PRAGMA writable_schema = ON;
                    DELETE FROM sqlite_schema WHERE type = 'trigger';
                    UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')
                    WHERE name = '\(column.table)';
                    PRAGMA writable_schema = RESET;
                    """)
            var isSet = false
            do {
                try database.execute(
                    sql: """
                        UPDATE OR IGNORE \(column.table) SET \(column.name) = \(damage.value)
                        WHERE \(damage.condition)
                        """)
                isSet = database.changesCount > 0
            } catch let error as DatabaseError where error.resultCode == .SQLITE_MISMATCH {
                // The value stays as it is.
            }
            try database.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    DELETE FROM sqlite_schema;
                    INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql)
                    SELECT place, type, name, tbl_name, rootpage, sql FROM kept;
                    PRAGMA writable_schema = RESET;
                    """)
            return isSet
        }
    }

    /// Everything that an app does with a cache, and that the cache does by itself.
    private func use(_ phone: Device) async throws {
        try restoreDamage(phone.cache)
        try await phone.cache.sync()
        try restoreDamage(phone.cache)
        try readEverything(phone.cache)
        _ = try await phone.cache.diagnosticsReport()
        try phone.save("later", "text")
        try await phone.cache.sync()
        _ = try phone.texts()
    }

    private func restoreDamage(_ cache: CloudCache) throws {
        for report in try cache.reports() {
            if case .fileDamaged = report.event { try cache.restore(report) }
        }
    }

    private func readEverything(_ cache: CloudCache) throws {
        _ = try cache.records(matching: CacheQuery("Item").sorted(by: "text"))
        _ = try cache.count(matching: CacheQuery("Item"))
        _ = try cache.unsentChanges()
        _ = try cache.attentionItems()
        _ = try cache.pendingRecordIDs()
        _ = try cache.loggedEvents()
        _ = try cache.file.answer("query")
        _ = try cache.file.wantedAssets(AssetSettings())
        _ = try cache.file.removeUnusedAssets(isThorough: true)
        _ = try cache.file.evictAssets(downTo: 0, unusedSince: 0) { _, _, _ in false }
        _ = try cache.file.takeForeignChanges()
        if let question = try cache.file.openQuestion(about: .private) {
            try cache.file.answerSync(question, of: .private, trouble: "")
        }
    }
}

extension Device {
    /// The damaged files that were moved aside, with SQLite's files beside them.
    fileprivate func asides() throws -> [String] {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent().path
        return try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasPrefix(url.lastPathComponent + ".damaged-") }
            .map { folder + "/" + $0 }
    }
}
