import Foundation
import GRDB

@testable import StratusCache

/// A new cache's file, with which the devices of tests begin: running all migrations takes longer than most tests.
/// Files of every format are created and migrated by `MigrationTests`.
enum EmptyCacheFile {
    private static let bytes = Result {
        let path = NSTemporaryDirectory() + "empty-\(UUID().uuidString).sqlite"
        // The last connection removes the files beside it.
        defer { try? FileManager.default.removeItem(atPath: path) }
        try CacheFormat.open(path).close()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// Writes the file to a path at which there is none.
    static func write(to path: String) throws {
        try bytes.get().write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
    }
}
