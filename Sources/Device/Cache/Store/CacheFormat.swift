import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusSQLite

/// The tables of the cache's file, and the migrations of earlier formats.
enum CacheFormat {
    private static let log = Logger(label: "stratus.cache")

    /// "StrC", in SQLite's header: this is a cache.
    private static let applicationID: Int32 = 0x5374_7243

    /// Formats 1 and 2 had no application_id. Format 1 had no tombstones, and no isRecreated and
    /// isUncertain in pending changes; up to format 2 the fields had another encoding.
    static let format = StoredFormat(
        applicationID: applicationID,
        migrations: [
            .init("tables", sql: tables),
            .init("tombstones", sql: tombstones),
            .init("fields as JSON") { try storeFieldsAsJSON($0) },
            .init("encrypted fields") { try noteEncryptedFields($0) },
            .init("databases", sql: databases),
            .init("events", sql: events),
            .init("assets", sql: assets),
            .init("times of deletions", sql: timesOfDeletions),
            .init("deleted records", sql: deletedRecords),
            .init("hashes of names") { try findByHash($0) },
            .init("versions of deletions", sql: versionsOfDeletions),
            .init("unanswered saves and moves", sql: unansweredSavesAndMoves),
        ],
        unmarkedFormats: 1...2)

    /// Opens or creates a file. Every commit is durable before it returns.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "StratusCache"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { $0.add(function: nameHash) }
        configuration = format.configuration(configuration, forFileAt: path)
        // SQLite gives the files that it creates beside it the same rights.
        DeviceFile.make(path)
        return try translatingErrors(ofFileAt: path) {
            let (pool, upgrade) = try format.openFile(at: path, configuration: configuration)
            if let upgrade, upgrade.from > 0 {
                log.notice(
                    "A cache file of an earlier format was brought up to date.",
                    metadata: [
                        "path": "\(path)", "from": "\(upgrade.from)", "to": "\(upgrade.to)",
                    ])
            }
            do {
                try pool.write { try $0.execute(sql: forgetOldTombstones) }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                // The format is current, but the table of tombstones has been altered: the file is
                // damaged.
                throw CacheError.damaged(error)
            }
            for suffix in ["", "-wal", "-shm"] { DeviceFile.tighten(path + suffix) }
            return pool
        }
    }

    /// Opens an existing file of any format that this release knows with one connection, to write to it. It is not
    /// migrated. Every commit is durable before it returns.
    ///
    /// - Throws: ``CacheError``, as ``open(_:)``.
    static func openWithoutMigrating(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "StratusCache"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { $0.add(function: nameHash) }
        let checked = format.configuration(configuration, forFileAt: path)
        return try translatingErrors(ofFileAt: path) {
            do {
                return try DatabaseQueue(path: path, configuration: checked)
            } catch DatabaseRefusal.newerFormat where isNumberDamaged(inFileAt: path) {
                // The next opening of the file as a cache finds the damage, and salvages the unsent changes.
                return try DatabaseQueue(path: path, configuration: configuration)
            }
        }
    }

    private static func translatingErrors<Opened>(
        ofFileAt path: String, _ body: () throws -> Opened
    ) throws -> Opened {
        do {
            return try body()
        } catch let error as CacheError {
            throw error
        } catch DatabaseRefusal.newerFormat(let path, let found, let newestKnown) {
            guard !isNumberDamaged(inFileAt: path) else {
                throw CacheError.damaged(
                    NewerCacheFormat(path: path, found: found, newestKnown: newestKnown))
            }
            throw CacheError(
                .newerFormat,
                "A newer version of the app wrote the cache's file. Update the app.",
                cause: NewerCacheFormat(path: path, found: found, newestKnown: newestKnown))
        } catch DatabaseRefusal.otherKind {
            guard !hasMigrationNames(inFileAt: path) else {
                throw CacheError.damaged(DatabaseRefusal.otherKind(path: path))
            }
            throw CacheError(.damaged, "The file \(path) is not a cache. Choose another path.")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw CacheError(
                .storageFull,
                "This device is full, so the cache \(path) was not opened. Make room, then try again.",
                cause: error)
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT
        {
            throw CacheError(
                .damaged,
                "The cache's file \(path) is damaged. Delete it; unsent changes in it are lost.",
                cause: error)
        } catch is RowDecodingError {
            throw CacheError.damagedRow
        } catch {
            throw CacheError.unwritable(path, cause: error)
        }
    }

    /// Opens a file of any format only for reading, also while an app has it open. It is neither checked nor migrated.
    static func openToRead(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { $0.add(function: nameHash) }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Whether a file has the names of most migrations: then it is a cache, the number of whose kind is damaged. Its tables
    /// may be damaged too, so they are not read. One or two of the names may be in a database of another program, which
    /// stays where it is.
    private static func hasMigrationNames(inFileAt path: String) -> Bool {
        // A file that cannot be read is no cache that could be replaced.
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        else { return false }
        let found = format.migrations.count { bytes.range(of: Data($0.identifier.utf8)) != nil }
        return found > format.migrations.count / 2
    }

    /// Whether the format number of a file is damaged: it is if this app knows all migrations of the file.
    private static func isNumberDamaged(inFileAt path: String) -> Bool {
        do {
            let known = Set(format.migrations.map(\.identifier))
            let found = try openToRead(path).read {
                try Set(String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations"))
            }
            return !found.isEmpty && found.isSubset(of: known)
        } catch {
            // Files of formats before the table have none. On an error the number counts as correct.
            return false
        }
    }

    /// The names of a file's tables, indexes and triggers, each with the sorted words of its SQL: a
    /// column that a migration added is at another position than in a file that was created with
    /// it.
    static func schema(of database: Database) throws -> Set<[String]> {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT CAST(name AS TEXT), CAST(sql AS TEXT) FROM sqlite_schema
                WHERE sql IS NOT NULL AND name <> 'grdb_migrations'
                """)
        return Set(
            try rows.map { row in
                let text = try row.decode(String?.self, atIndex: 1) ?? ""
                let words = text.split { !$0.isLetter && !$0.isNumber }
                let name = try row.decode(String?.self, atIndex: 0) ?? ""
                return [name] + words.map(String.init).sorted()
            })
    }

    /// The schema of a file of the current format without declared types.
    static func schemaOfEmptyFile() throws -> Set<[String]> {
        let queue = try DatabaseQueue()
        _ = try format.migrate(queue)
        return try queue.read { try schema(of: $0) }
    }

    // zone.isRefetching: 1 a full fetch has not ended, 2 the zone's first. zone.state: 0 wanted, 1 known to exist, 2 to
    // be deleted, 3 to be deleted and created again, 4 refused by the service. zone.pass counts full fetches: rows that
    // a full fetch did not contain keep an older pass and are deleted at its end. pending.earlier: 8-byte marks of
    // values that newer edits replaced; the service may have received them although no answer arrived.
    // pending.errorCode: set aside, needs attention.
    private static let tables = """
        CREATE TABLE flag (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        CREATE TABLE zone (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL,
            state INTEGER NOT NULL, token TEXT, pass INTEGER NOT NULL DEFAULT 0,
            isRefetching INTEGER NOT NULL DEFAULT 0, needsFetch INTEGER NOT NULL DEFAULT 0,
            UNIQUE (name, owner));
        CREATE TABLE record (
            id INTEGER PRIMARY KEY, zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE,
            name TEXT NOT NULL, type TEXT NOT NULL, system BLOB, parent TEXT, fields BLOB NOT NULL,
            pass INTEGER NOT NULL, UNIQUE (zone, name));
        CREATE INDEX recordByType ON record (zone, type);
        CREATE TABLE pending (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE, name TEXT NOT NULL,
            kind INTEGER NOT NULL, generation INTEGER NOT NULL, edited INTEGER NOT NULL,
            baseType TEXT, baseSystem BLOB, baseParent TEXT, baseFields BLOB,
            earlier BLOB NOT NULL DEFAULT x'', rounds INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0, errorCode INTEGER, errorMessage TEXT,
            UNIQUE (zone, name));
        CREATE INDEX pendingToSend ON pending (sequence) WHERE errorCode IS NULL;
        """

    // pending.isMadeAnew: the base is a record that was deleted before this one was created. pending.isUncertain: the
    // change was sent without an answer. tombstone: records and zones that were deleted; a zone has an empty name. A
    // row has no meaning for a record or zone that is here again.
    private static let tombstones = """
        ALTER TABLE pending ADD COLUMN isMadeAnew INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE pending ADD COLUMN isUncertain INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE tombstone (
            id INTEGER PRIMARY KEY, owner TEXT NOT NULL, zone TEXT NOT NULL, name TEXT NOT NULL,
            UNIQUE (owner, zone, name));
        """

    // database: the raw value of a CKDatabase.Scope; 0 is the file as a whole. Up to format 4 a file had one database
    // and did not name it: the owners of its zones show which it is. The tokens of a file without zones are removed,
    // because a token of the wrong database would hide changes of this one. change: one row for each transaction that
    // changed records, so that every process with this file is notified of it. Its id counts the records; the oldest
    // rows are removed. report: what the app has not been notified of, or has not acknowledged.
    private static let databases = """
        CREATE TABLE newZone (
            id INTEGER PRIMARY KEY, database INTEGER NOT NULL, name TEXT NOT NULL,
            owner TEXT NOT NULL, state INTEGER NOT NULL, token TEXT,
            pass INTEGER NOT NULL DEFAULT 0, isRefetching INTEGER NOT NULL DEFAULT 0,
            needsFetch INTEGER NOT NULL DEFAULT 0, UNIQUE (database, name, owner));
        INSERT INTO newZone SELECT id, \(databaseOfOwner), name, owner, state, token, pass, isRefetching,
            needsFetch FROM zone;
        DROP TABLE zone;
        ALTER TABLE newZone RENAME TO zone;
        CREATE TABLE newTombstone (
            id INTEGER PRIMARY KEY, database INTEGER NOT NULL, owner TEXT NOT NULL,
            zone TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (database, owner, zone, name));
        INSERT INTO newTombstone SELECT id, \(databaseOfOwner), owner, zone, name FROM tombstone;
        DROP TABLE tombstone;
        ALTER TABLE newTombstone RENAME TO tombstone;
        CREATE TABLE newFlag (
            database INTEGER NOT NULL, name TEXT NOT NULL, value TEXT,
            PRIMARY KEY (database, name)) WITHOUT ROWID;
        INSERT INTO newFlag SELECT 0, name, value FROM flag
            WHERE name IN ('userRecordName', 'isDisabled');
        INSERT INTO newFlag SELECT (SELECT max(database) FROM zone), name, value FROM flag
            WHERE name NOT IN ('userRecordName', 'isDisabled')
                AND (SELECT count(DISTINCT database) FROM zone) = 1;
        DROP TABLE flag;
        ALTER TABLE newFlag RENAME TO flag;
        CREATE TABLE change (
            id INTEGER PRIMARY KEY, origin INTEGER NOT NULL, database INTEGER NOT NULL,
            records BLOB NOT NULL);
        CREATE TABLE report (
            id INTEGER PRIMARY KEY AUTOINCREMENT, database INTEGER NOT NULL,
            time INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
            content BLOB NOT NULL);
        """

    // event: events of syncing, the last 500; see CacheLog. details: JSON.
    private static let events = """
        CREATE TABLE event (
            id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
            database INTEGER NOT NULL, level TEXT NOT NULL, kind TEXT NOT NULL,
            details TEXT NOT NULL);
        """

    // tombstone.deleted: when this device deleted it, in milliseconds since 1970; NULL if another device deleted it.
    private static let timesOfDeletions = "ALTER TABLE tombstone ADD COLUMN deleted INTEGER;"

    // tombstone.madeAnew: when the deleted record was created under the name of an earlier deleted one, in milliseconds
    // since 1970; NULL for the first of its name.
    private static let deletedRecords = "ALTER TABLE tombstone ADD COLUMN madeAnew INTEGER;"

    // tombstone.version: the zone's version at which the service confirmed the deletion; the largest number for one
    // that the zone's changes reported, 0 for a record that was never at the service, NULL for a deletion that the
    // service did not confirm or has lost. pending.isSentAgain: the service lost the record.
    private static let versionsOfDeletions = """
        ALTER TABLE tombstone ADD COLUMN version INTEGER;
        ALTER TABLE pending ADD COLUMN isSentAgain INTEGER NOT NULL DEFAULT 0;
        """

    // tombstone.sent: marks of the field times with which a new record was sent, if it was deleted before it was known
    // whether it had arrived, and of the record's creation, if its deletion found no record at the service; NULL for
    // all others. pending.isMoved: its base refers, or may refer, with DELETE_SELF to a record to which the record no
    // longer refers.
    private static let unansweredSavesAndMoves = """
        ALTER TABLE tombstone ADD COLUMN sent BLOB;
        CREATE INDEX tombstoneOfUnanswered ON tombstone (database, owner, zone)
            WHERE sent IS NOT NULL;
        ALTER TABLE pending ADD COLUMN isMoved INTEGER NOT NULL DEFAULT 0;
        UPDATE pending SET isMoved = 1 WHERE instr(baseFields, CAST('"DELETE_SELF"' AS BLOB)) > 0;
        CREATE INDEX pendingMoved ON pending (zone) WHERE isMoved;
        """

    /// The database of the zones of an owner: zones of an owner other than the user are in the
    /// shared database.
    private static let databaseOfOwner = """
        CASE WHEN owner IN ('\(ZoneID.currentUserName)',
            (SELECT value FROM flag WHERE name = 'userRecordName')) THEN 2 ELSE 3 END
        """

    /// An app is not expected to hold an object of a record that was deleted 100,000 deletions ago.
    private static let forgetOldTombstones =
        "DELETE FROM tombstone WHERE id <= (SELECT max(id) FROM tombstone) - 100000"

    /// From format 2 to 3: the bytes of fields and system fields, row by row, in one transaction.
    ///
    /// The digests of earlier edits are removed, because they were made from the former bytes. If the service has such
    /// an edit, the resolver is called, which would not be necessary without the migration.
    private static func storeFieldsAsJSON(_ database: Database) throws {
        let columns = [
            ("record", "id", "system", "fields"),
            ("pending", "sequence", "baseSystem", "baseFields"),
        ]
        for (table, key, system, fields) in columns {
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(key), \(system), \(fields) FROM \(table) ORDER BY \(key)")
            let update = try database.makeStatement(
                sql: "UPDATE \(table) SET \(system) = ?, \(fields) = ? WHERE \(key) = ?")
            while let row = try rows.next() {
                try update.execute(arguments: [
                    row.withUnsafeData(atIndex: 1) { data in
                        try data?.withUnsafeBytes {
                            StoredSystem.encode(try FieldsOfFormat2.system($0))
                        }
                    },
                    row.withUnsafeData(atIndex: 2) { data in
                        try data?.withUnsafeBytes {
                            StoredFields.encode(try FieldsOfFormat2.fields($0))
                        }
                    },
                    try row.decode(Int64.self, atIndex: 0),
                ])
            }
        }
        try database.execute(sql: "UPDATE pending SET earlier = x''")
    }

    /// From format 3 to 4: collects the fields that the app encrypts from the records.
    ///
    /// A value that this device can read was opened with a key or encrypted here. A sealed value
    /// may have been written by anyone.
    private static func noteEncryptedFields(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE encryptedField (
                    type TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (type, key)) WITHOUT ROWID
                """)
        let sealed: [UInt8] = [0x53, 0x56, 0x31, 0x00]
        let insert = try database.makeStatement(
            sql: "INSERT OR IGNORE INTO encryptedField (type, key) VALUES (?, ?)")
        let rows = try Row.fetchCursor(database, sql: "SELECT type, fields FROM record")
        while let row = try rows.next() {
            let type: String = try row.decode(atIndex: 0)
            let fields = try row.withUnsafeData(atIndex: 1) { data in
                try data?.withUnsafeBytes { try StoredFields.decode($0) } ?? []
            }
            for field in fields where field.isEncrypted {
                if case .bytes(let bytes) = field.value, bytes.starts(with: sealed) { continue }
                try insert.execute(arguments: [type, field.name])
            }
        }
    }
}
