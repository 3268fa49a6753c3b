import Foundation
import GRDB
import StratusSQLite

@testable import StratusStorage

/// Writes a file as an earlier release did, and opens it with today's format while `body` runs.
///
/// - Parameter number: the last upgrade that the release had.
func withEarlierFile(
    of today: StoredFormat, through number: Int,
    _ write: @escaping @Sendable (Database) throws -> Void,
    _ body: (SQLiteFile) async throws -> Void
) async throws {
    try await withTemporaryFolder(isMade: true) { folder in
        let path = folder + "/earlier.sqlite"
        let old = try SQLiteFile(path: path, format: today.through(number))
        try await old.write(write)
        try old.close()

        let new = try SQLiteFile(path: path, format: today)
        try await body(new)
        try new.close()
    }
}
