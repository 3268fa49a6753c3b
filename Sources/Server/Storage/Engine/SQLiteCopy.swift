import Foundation
import GRDB
import StratusRecords

/// Copies of database files that a service may be writing.
package enum SQLiteCopy {
    /// Copies a database as it is at one moment, with SQLite's online backup; writers go on meanwhile.
    ///
    /// The copy is a whole file without a log beside it, its user's alone, and on the disk when this
    /// returns.
    ///
    /// - Parameters:
    ///   - source: The file; it is only read.
    ///   - destination: Where no file is yet.
    /// - Throws: ``StorageError``: with ``StorageError/Code/corrupt`` when the file is damaged, or has fewer
    ///   commits than its high-water mark says, as one that lost its log.
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
            // Before the database: a service may commit and raise the mark in between.
            let mark = try HighWaterMark.existing(at: HighWaterMark.path(ofDatabase: source))
            let original = try DatabaseQueue(path: source, configuration: configuration)
            let copy = try DatabaseQueue(path: destination)
            // All pages in one step: one snapshot, whatever is written meanwhile.
            try original.backup(to: copy)
            try original.close()
            let isWhole = try copy.read { database in
                try mark?.check(stampedBy: database)
                return try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok"
            }
            // The log's mode came with the pages; a file that nobody writes needs no log.
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

    /// Why there is no file where a database's is looked for: it was lost, or never made.
    ///
    /// - Returns: Nil where nothing was acknowledged.
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
    /// Refuses a copied database that lacks commits; one that is empty or of an earlier format has none.
    fileprivate func check(stampedBy database: Database) throws {
        guard commits > 0 else { return }
        guard try database.tableExists("history"),
            try database.columns(in: "history").contains(where: { $0.name == "commits" })
        else { throw LossRefusal(.behind(acknowledged: commits, found: 0)) }
        try check(FileStamp.read(from: database))
    }
}
