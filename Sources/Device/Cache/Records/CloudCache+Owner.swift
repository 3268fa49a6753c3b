import GRDB

extension CloudCache {
    /// The user whose file this is; nil before its first sync. Opens the file only to read.
    package static func userRecordName(ofFileAt path: String) throws -> String? {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer {
            // Nothing was written, so nothing can be lost.
            try? queue.close()
        }
        return try queue.read { database in
            // Up to format 4 as well as today.
            try String.fetchOne(
                database, sql: "SELECT value FROM flag WHERE name = ?",
                arguments: [CacheFlag.userRecordName.rawValue])
        }
    }

    /// Writes what lies in a file's log into the file, so that it can be renamed in one step.
    package static func emptyLog(ofFileAt path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { database in
            // Whose the records are is said now.
            try database.execute(
                sql: "DELETE FROM flag WHERE name = ?",
                arguments: [CacheFlag.isMadeByNobody.rawValue])
            _ = try database.checkpoint(.truncate)
        }
        try queue.close()
    }
}
