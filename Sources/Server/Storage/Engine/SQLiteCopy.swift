import Foundation
import GRDB
import StratusRecords

/// Copies of database files that a service may be writing.
package enum SQLiteCopy {
    /// Copies a database as it is at one moment, with SQLite's online backup; writers continue.
    ///
    /// The copy is a complete file without a log beside it, which only its user can access, and is on the disk when
    /// this returns.
    ///
    /// - Parameters:
    ///   - source: The file; it is only read, unless a killed process left a journal beside it.
    ///   - destination: The path of the copy, where no file exists.
    /// - Throws: ``StorageError``: with ``StorageError/Code/corrupt`` when the file is damaged, or has fewer commits
    ///   than its high-water mark, as when it lost its log.
    package static func copy(_ source: String, to destination: String) throws {
        let descriptor = open(destination, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StorageError.translating(errno: errno, path: destination)
        }
        close(descriptor)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(30)
        do {
            // Read before the database: a service may commit and raise the mark in between.
            let mark = try HighWaterMark.existing(at: HighWaterMark.path(ofDatabase: source))
            let original = try openToRead(source, configuration)
            let copy = try DatabaseQueue(path: destination)
            // All pages in one step are one snapshot, regardless of writes in the meantime.
            try original.backup(to: copy)
            try original.close()
            let isWhole = try copy.read { database in
                try mark?.check(stampedBy: database)
                return try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok"
            }
            // The journal mode was copied with the pages; a file that is not written needs no log.
            try copy.close()
            for suffix in ["-wal", "-shm"] where unlink(destination + suffix) != 0 {
                guard errno == ENOENT else {
                    throw StorageError.translating(errno: errno, path: destination + suffix)
                }
            }
            guard isWhole else {
                throw StorageError(
                    .corrupt, "The database file is damaged. Restore it from a backup.",
                    path: source)
            }
        } catch {
            throw StorageError.translating(error, path: source)
        }
        try DataFolder.sync(destination)
    }

    /// Opens a file to read it.
    ///
    /// If the service was killed while it rewrote the file (``PageGrowth``), and has not opened it since, what it had
    /// written is undone first, as at any opening: that needs a connection that may write.
    private static func openToRead(
        _ source: String, _ configuration: Configuration
    ) throws -> DatabaseQueue {
        do {
            return try DatabaseQueue(path: source, configuration: configuration)
        } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
        {
            // It says that a journal is left, which the opening rolls back.
            var writing = configuration
            writing.readonly = false
            try DatabaseQueue(path: source, configuration: writing).close()
            return try DatabaseQueue(path: source, configuration: configuration)
        }
    }

    /// Why a database's file does not exist: it was lost, or never created.
    ///
    /// - Returns: Nil when nothing was acknowledged.
    /// - Throws: ``StorageError`` when the mark cannot be read.
    package static func loss(ofMissing path: String) throws -> StorageError? {
        do {
            let mark = try HighWaterMark.existing(at: HighWaterMark.path(ofDatabase: path))
            guard let mark, mark.commits > 0, access(path, F_OK) != 0 else { return nil }
            return StorageError(LossRefusal(.missing(acknowledged: mark.commits)), path: path)
        } catch let refusal as LossRefusal {
            return StorageError(refusal, path: path)
        }
    }
}

extension HighWaterMark {
    /// Refuses a copied database that lacks commits. An empty one, or one of an earlier format, has none to compare.
    fileprivate func check(stampedBy database: Database) throws {
        guard commits > 0 else { return }
        guard try database.tableExists("history"),
            try database.columns(in: "history").contains(where: { $0.name == "commits" })
        else { throw LossRefusal(.behind(acknowledged: commits, found: 0)) }
        try check(FileStamp.read(from: database))
    }
}
