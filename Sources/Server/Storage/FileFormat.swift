import GRDB

/// The kind of a file and the steps that lead from an empty one to today's tables.
///
/// SQLite's `application_id` says whose file it is, its `user_version` how many of the steps were taken:
/// that number is the format version. A file with a higher one was written by a newer release and is
/// refused unread. A step is never changed after a release; new tables come with new steps.
struct FileFormat: Sendable {
    var applicationID: Int64
    var steps: [@Sendable (Database) throws -> Void]

    /// Refuses files that are not of this kind or are newer. Reads only.
    func check(_ database: Database, path: String) throws {
        let (application, version) = try stamp(of: database)
        if application == applicationID, version <= steps.count { return }
        let isEmpty =
            try SQLStatement(database, "SELECT 1 FROM sqlite_schema LIMIT 1")
            .first { _ in true } == nil
        guard application == 0, version == 0, isEmpty else {
            throw StorageError.unknownFormat(path: path)
        }
    }

    /// Takes the steps that are missing, in one transaction.
    func bringUpToDate(_ database: Database) throws {
        let (_, version) = try stamp(of: database)
        guard version < steps.count else { return }
        try database.inTransaction(.immediate) {
            for step in steps[Int(version)...] { try step(database) }
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(steps.count)")
            return .commit
        }
    }

    private func stamp(of database: Database) throws -> (application: Int64, version: Int64) {
        let application = try SQLStatement(database, "PRAGMA application_id").first {
            $0.integer(0)
        }
        let version = try SQLStatement(database, "PRAGMA user_version").first { $0.integer(0) }
        return (application ?? 0, version ?? 0)
    }
}
