import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import StratusWire

extension CacheFile {
    /// Writes the events since the last transaction, and removes the oldest beyond the limit.
    func writeEvents(_ events: [LoggedEvent], _ database: Database) throws {
        guard !events.isEmpty else { return }
        let statement = try SQLStatement(
            database,
            "INSERT INTO event (time, database, level, kind, details) VALUES (?, ?, ?, ?, ?)")
        for event in events {
            let milliseconds = ExactDate.milliseconds(
                of: event.date.timeIntervalSinceReferenceDate)
            try statement.bind(1, milliseconds).bind(2, Int64(event.scope))
                .bind(3, event.level).bind(4, event.kind)
                .bind(5, Self.json(event.details)).run()
        }
        try SQLStatement(database, "DELETE FROM event WHERE id <= ?")
            .bind(1, database.lastInsertedRowID - Int64(CacheLog.limit)).run()
    }

    /// The details as JSON, their names in order.
    private static func json(_ details: [String: String]) -> String {
        var json = JSONWriter(reservingBytes: 64 + details.count * 32)
        json.object { json in
            for (name, value) in details.sorted(by: { $0.key < $1.key }) {
                json.key(name)
                json.string(value)
            }
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// The last events, the oldest first.
    static func events(_ database: Database) throws -> [LoggedEvent] {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT time, database, level, kind, details FROM event ORDER BY id")
        return try rows.map { row in
            LoggedEvent(
                date: CacheStore.date(try row.decode(atIndex: 0)),
                scope: try row.decode(atIndex: 1), level: try row.decode(atIndex: 2),
                kind: try row.decode(atIndex: 3),
                details: try StoredJSON.decode(
                    [String: String].self,
                    from: Data(try row.decode(String.self, atIndex: 4).utf8)))
        }
    }
}

extension CloudCache {
    /// The last 500 events of syncing, the oldest first, over restarts. They have no names of
    /// records and no values of fields.
    public func loggedEvents() throws -> [LoggedEvent] {
        // Writes the events that wait in memory.
        try file.write { _ in }
        return try file.read { try CacheFile.events($0) }
    }
}
