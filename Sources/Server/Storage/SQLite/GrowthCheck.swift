import GRDB
import StratusSQLite

/// Lets a database carry out only writes that add nothing while the disk is full.
///
/// What a write adds is known when it has run, in its savepoint: the bytes of the records, and the pages in use. A
/// deletion frees its record's bytes and occasionally takes a page, for the tombstone and the event in the outbox.
struct GrowthCheck: Sendable {
    let path: String
    let reserve: DiskReserve?
    /// A statement for the size of the records; nil if every write is allowed.
    let recordBytes: String?

    /// Pages that a deletion may add to those in use.
    private static let pagesOfADeletion: Int64 = 8

    private struct Size {
        var recordBytes: Int64
        var usedPages: Int64
    }

    /// Runs a write, and undoes it with an error if it adds something while saves are refused.
    func checking<Outcome>(
        _ database: Database, _ body: (Database) throws -> Outcome
    ) throws -> Outcome {
        guard let recordBytes, let reserve, reserve.isReadOnly else { return try body(database) }
        let before = try size(of: database, recordBytes)
        let outcome = try body(database)
        let after = try size(of: database, recordBytes)
        guard after.recordBytes <= before.recordBytes,
            after.usedPages <= before.usedPages + Self.pagesOfADeletion
        else { throw StorageError.diskFull(path: path) }
        return outcome
    }

    /// Notifies the reserve of a commit that found no room.
    func note(_ failure: any Error) {
        guard (failure as? StorageError)?.code == .diskFull else { return }
        _ = reserve?.noteFull()
    }

    private func size(of database: Database, _ recordBytes: String) throws -> Size {
        func number(_ sql: String) throws -> Int64 {
            try SQLStatement(database, sql).first { $0.integer(0) } ?? 0
        }
        return Size(
            recordBytes: try number(recordBytes),
            usedPages: try number("PRAGMA page_count") - number("PRAGMA freelist_count"))
    }
}
