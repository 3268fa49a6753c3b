import GRDB
import StratusSQLite

/// One open database, in a file or in memory.
protocol OpenDatabase: AnyObject, Sendable {
    /// The file; in memory a name for messages.
    var path: String { get }

    /// The epoch in which this process writes it; set when it is opened.
    var epoch: EpochPlace { get }

    /// Runs `body` on one state of the database.
    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome

    /// Runs `body` in a transaction and returns when it is stored: on the disk, if there is a file.
    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome

    /// Finishes running work and closes all connections. Blocks on the disk, if there is a file.
    func close() throws

    /// Closes like ``close()``, but leaves the empty log and its index beside the file for the next opening.
    ///
    /// - Returns: Whether they exist.
    func closeKeepingLog() throws -> Bool
}

extension OpenDatabase {
    func closeKeepingLog() throws -> Bool {
        try close()
        return false
    }

    /// Runs `body`, which reads about a page, on one state of the database.
    func read<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await read(.page, body)
    }

    /// Checks every page, in time that grows with the file.
    ///
    /// - Throws: ``StorageError`` with ``StorageError/Code/corrupt``, and what reading throws.
    func checkPages() async throws {
        let complaint = try await read(.zone) { database in
            try SQLStatement(database, "PRAGMA quick_check(1)").first { $0.text(0) } ?? "nothing"
        }
        guard complaint != "ok" else { return }
        throw StorageError.translating(
            DatabaseError(resultCode: .SQLITE_CORRUPT, message: complaint), path: path)
    }
}
