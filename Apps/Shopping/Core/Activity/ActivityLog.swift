import GRDB
import StratusCache

// What happened to the lists lies in a table of its own, in the file of the lists: an entry is written there when it
// comes, and stays when compaction takes it out of the journal.

/// The kept history of one person's lists on one device.
struct ActivityLog {
    /// Under which stands what concerns no list.
    static let everyList = ""

    let cache: CloudCache

    /// Makes the tables where they are missing.
    func prepare() throws {
        try cache.write { transaction in
            try transaction.database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS app_activity (
                        list TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL,
                        action TEXT NOT NULL, item TEXT, value TEXT, device TEXT NOT NULL,
                        author TEXT NOT NULL, PRIMARY KEY (list, id)) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS app_note (
                        name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    """)
        }
    }

    /// Writes down entries, those only that are not there yet.
    func keep(_ entries: [JournalEntry], of list: String, in database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT OR IGNORE INTO app_activity VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        for entry in entries {
            try statement.execute(arguments: [
                list, entry.id, entry.editTimeMilliseconds, entry.action.rawValue, entry.itemID,
                entry.value, entry.device, entry.author,
            ])
        }
    }

    func keep(_ entries: [JournalEntry], of list: String) throws {
        guard !entries.isEmpty else { return }
        try cache.write { try keep(entries, of: list, in: $0.database) }
    }

    /// Writes down what is no entry.
    func keep(_ event: ActivityEvent, of list: String) throws {
        try cache.write { transaction in
            try transaction.database.execute(
                sql: "INSERT OR IGNORE INTO app_activity VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    list, event.id, event.milliseconds, event.action.rawValue, event.itemID,
                    event.value, event.device, event.author,
                ])
        }
    }

    /// What happened to a list, oldest first, compacted or not.
    func events(of list: String) throws -> [ActivityEvent] {
        try cache.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT * FROM app_activity WHERE list IN (?, ?) ORDER BY time, device, id
                    """,
                arguments: [list, Self.everyList]
            ).map { try ActivityEvent($0) }
        }
    }

    /// Forgets all, as when the account leaves the device.
    func removeEverything() throws {
        try cache.write { transaction in
            try transaction.database.execute(
                sql: "DELETE FROM app_activity; DELETE FROM app_note")
        }
    }

    // MARK: Notes

    /// What tells this device from others; made at the first look, and kept.
    func deviceID(orNew newID: () -> String) throws -> String {
        if let known = try note("device") { return known }
        let made = newID()
        try setNote("device", made)
        return made
    }

    /// What this device noted under a name; nil for nothing.
    func note(_ name: String) throws -> String? {
        try cache.read { database in
            try String.fetchOne(
                database, sql: "SELECT value FROM app_note WHERE name = ?", arguments: [name])
        }
    }

    func setNote(_ name: String, _ value: String?) throws {
        try cache.write { transaction in
            try transaction.database.execute(
                sql: value == nil
                    ? "DELETE FROM app_note WHERE name = ?"
                    : "INSERT OR REPLACE INTO app_note (name, value) VALUES (?1, ?2)",
                arguments: value.map { [name, $0] } ?? [name])
        }
    }
}

extension ActivityEvent {
    init(_ row: Row) throws {
        self.init(
            id: try row.decode(forColumn: "id"), milliseconds: try row.decode(forColumn: "time"),
            action: .init(rawValue: try row.decode(forColumn: "action")),
            itemID: try row.decode(forColumn: "item"), value: try row.decode(forColumn: "value"),
            device: try row.decode(forColumn: "device"),
            author: try row.decode(forColumn: "author"))
    }
}
