import GRDB
import StratusSQLite
import Synchronization

/// The connections that databases in memory leave to later ones.
package typealias SpareDatabases = SpareConnections<Void>

extension SpareConnections where Companion == Void {
    /// Those of all engines in memory of the process.
    static let shared = SpareDatabases()
}

/// The unused database of which databases in memory are copies.
struct MemoryTemplate: Sendable {
    let kind: String
    let database: Result<DatabaseQueue, any Error>
    let content: Result<NewDatabase, any Error>

    init(_ kind: String, _ format: StoredFormat) {
        self.kind = kind
        let database = Result {
            try format.openInMemory(configuration: SQLiteMemory.configuration)
        }
        self.database = database
        content = Result { try NewDatabase(database.get()) }
    }
}

/// One open database in memory: one connection, which reads and writes in turns on the caller's thread.
///
/// In memory SQLite has no write-ahead log, so a reader cannot see an older state beside a writer. Reads and writes
/// wait only for one another.
final class SQLiteMemory: OpenDatabase {
    let path: String
    let epoch = EpochPlace()
    private let queue: DatabaseQueue
    /// Where the connection goes when the database is no longer used, and for which kind of databases.
    private let sparePool: (spares: SpareDatabases, kind: String)?
    private let isClosed = Atomic(false)

    static let configuration: Configuration = {
        SQLiteFile.settings
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        return configuration
    }()

    /// Creates a database by copying an unused one of the same format, on a connection that an earlier database left if
    /// there is one.
    init(
        path: String, format: StoredFormat, template: MemoryTemplate, spares: SpareDatabases? = nil
    ) throws {
        self.path = path
        sparePool = spares.map { ($0, template.kind) }
        if let spare = try spares?.take(kind: template.kind, as: template.content.get()) {
            queue = spare.queue
            try queue.inDatabase { try format.begin($0) }
        } else {
            queue = try format.openInMemory(
                copying: template.database.get(), configuration: Self.configuration)
        }
    }

    private init(path: String, queue: DatabaseQueue) {
        self.path = path
        self.queue = queue
        sparePool = nil
    }

    deinit {
        if let sparePool { sparePool.spares.give(queue, (), kind: sparePool.kind) }
    }

    /// Another database with the same content.
    func copy() throws -> SQLiteMemory {
        let other = try DatabaseQueue(configuration: Self.configuration)
        try queue.inDatabase { database in try other.inDatabase { try database.backup(to: $0) } }
        return SQLiteMemory(path: path, queue: other)
    }

    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        // Needs no transaction: nothing writes between two statements.
        try inTurn(body)
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try inTurn { try Self.transaction(in: $0, body) }
    }

    func close() throws {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        if sparePool == nil { try translatingErrors { try queue.close() } }
    }

    private static func transaction<Outcome>(
        in database: Database, _ body: (Database) throws -> Outcome
    ) throws -> Outcome {
        try SQLStatement(database, "BEGIN IMMEDIATE").run()
        do {
            let outcome = try body(database)
            try SQLStatement(database, "COMMIT").run()
            return outcome
        } catch {
            let first = error
            do {
                try SQLStatement(database, "ROLLBACK").run()
            } catch {
                // SQLite has rolled back by itself; the first error says why, and is thrown.
            }
            throw first
        }
    }

    private func inTurn<Outcome>(_ body: (Database) throws -> Outcome) throws -> Outcome {
        try translatingErrors {
            // GRDB's queue runs it on this thread.
            try queue.inDatabase { database in
                if isClosed.load(ordering: .sequentiallyConsistent) {
                    throw StorageError.closed(path: path)
                }
                return try body(database)
            }
        }
    }

    private func translatingErrors<Outcome>(_ body: () throws -> Outcome) throws -> Outcome {
        do {
            return try body()
        } catch {
            throw StorageError.translating(error, path: path)
        }
    }
}
