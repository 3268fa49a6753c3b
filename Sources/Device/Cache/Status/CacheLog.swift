import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSQLite
import StratusWire

/// An event of syncing, for troubleshooting. It has no values of fields.
public struct LoggedEvent: Hashable, Sendable, Codable {
    /// When it happened, by this device's clock.
    public var date: Date
    /// The database, 2 private and 3 shared; 0 is the file.
    public var scope: Int
    /// A level of swift-log: `debug`, `info`, `notice`, `warning`, `error`.
    public var level: String
    /// What happened, as a constant word: `operation`, `failed`, `halted`, ….
    public var kind: String
    /// Facts about the event by name, such as the `code` and `message` of a failure; may be empty.
    public var details: [String: String]
}

/// The log of syncing: events go to swift-log under the label `stratus.cache`, and the last ones
/// are kept in the file, over restarts.
///
/// Successes are written with the next transaction, failures at once.
struct CacheLog: Sendable {
    /// The maximum number of events in the file.
    static let limit = 500

    let file: CacheFile
    let scope: CKDatabase.Scope?
    let world: World
    private let logger = Logger(label: "stratus.cache")

    init(file: CacheFile, scope: CKDatabase.Scope?, world: World) {
        self.file = file
        self.scope = scope
        self.world = world
    }

    /// - Parameters:
    ///   - isFailure: whether it is written at once; so is every warning.
    ///   - isInTransaction: whether a transaction is running, which writes the event too.
    func note(
        _ level: Logger.Level, _ kind: String, _ details: [String: String] = [:],
        isFailure: Bool = false, isInTransaction: Bool = false
    ) {
        var metadata: Logger.Metadata = ["database": "\(scope?.rawValue ?? 0)"]
        for (key, value) in details { metadata[key] = "\(value)" }
        logger.log(level: level, "\(kind)", metadata: metadata)
        let event = LoggedEvent(
            date: world.now, scope: scope?.rawValue ?? 0, level: level.rawValue, kind: kind,
            details: details)
        file.events.withLock { events in
            events.append(event)
            events.removeFirst(max(0, events.count - Self.limit))
        }
        guard isFailure || level >= .warning, !isInTransaction else { return }
        // If the disk is full or damaged, the event has gone to swift-log, and waits in memory for
        // the next transaction.
        try? file.write { _ in }
    }
}

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
