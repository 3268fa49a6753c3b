import GRDB

extension CloudCache {
    /// The user of the file; nil before their first sync.
    package func userRecordName() async throws -> String? {
        let store = databases[0].store
        return try await file.disk.read { try store.read { try store.owner($0) } }
    }

    /// The user of the file; nil before its first sync. Opens the file only for reading.
    package static func userRecordName(ofFileAt path: String) throws -> String? {
        let queue = try CacheFormat.openToRead(path)
        defer {
            // Nothing was written, so a failed close loses nothing.
            try? queue.close()
        }
        return try queue.read { database in
            // The statement works up to format 4 as well as today.
            try String.fetchOne(
                database, sql: "SELECT value FROM flag WHERE name = ?",
                arguments: [CacheFlag.userRecordName.rawValue])
        }
    }

    /// Writes the log of a file into the file, so that it can be renamed in one step.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    package static func emptyLog(ofFileAt path: String) throws {
        let queue = try CacheFormat.openWithoutMigrating(path)
        try queue.inDatabase { database in
            // The user is set now.
            try database.execute(
                sql: "DELETE FROM flag WHERE name = ?",
                arguments: [CacheFlag.isMadeByNobody.rawValue])
            _ = try database.checkpoint(.truncate)
        }
        try queue.close()
    }
}
