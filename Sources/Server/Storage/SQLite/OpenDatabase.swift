import GRDB

/// One open database, in a file or in memory.
protocol OpenDatabase: AnyObject, Sendable {
    /// The file; in memory a name for messages.
    var path: String { get }

    /// Runs `body` on one state of the database.
    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome

    /// Runs `body` in a transaction and returns when it is kept: on the disk, where there is a file.
    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome

    /// Finishes what is under way and closes all connections. Waits for the disk, where there is a file.
    func close() throws
}

extension OpenDatabase {
    /// Runs `body`, which reads about a page, on one state of the database.
    func read<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await read(.page, body)
    }
}
