import GRDB
import StratusCache

// The history of the lists has its own table in the lists' file: an entry is written there when it arrives, and stays
// when compaction removes it from the journal.

/// The stored history of one person's lists on one device.
struct ActivityLog {
    /// The list identifier of events that concern no list.
    static let everyList = ""

    let cache: CloudCache

    /// Creates the tables if they are missing.
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

    /// Stores those of the entries that are not stored yet.
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

    /// Stores an event that is not a journal entry.
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

    /// Removes all events and notes, as when the account is removed from the device.
    func removeEverything() throws {
        try cache.write { transaction in
            try transaction.database.execute(
                sql: "DELETE FROM app_activity; DELETE FROM app_note")
        }
    }

    // MARK: Notes

    /// The identifier that distinguishes this device from others; created at the first call, and kept.
    func deviceID(orNew newID: () -> String) throws -> String {
        if let known = try note("device") { return known }
        let made = newID()
        try setNote("device", made)
        return made
    }

    /// The value that this device noted under a name; nil for none.
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
