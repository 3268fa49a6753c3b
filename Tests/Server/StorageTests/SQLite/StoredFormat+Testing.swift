import Logging
import StratusSQLite

@testable import StratusStorage

extension StoredFormat {
    /// The format of an earlier release, with its first so many migrations.
    func through(_ count: Int) -> StoredFormat {
        StoredFormat(
            applicationID: applicationID, migrations: Array(migrations.prefix(count)), begin: begin)
    }
}

extension SQLiteFile {
    convenience init(
        path: String, format: StoredFormat, limits: StorageLimits = StorageLimits()
    ) throws {
        try self.init(
            path: path, format: format, limits: limits, logger: Logger(label: "stratus.tests"))
    }
}
