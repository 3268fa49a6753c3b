import GRDB
import StratusRecords
import StratusSQLite

/// The result of checking a data folder.
public struct FolderCheck: Hashable, Sendable {
    /// How many databases there are, the directory among them.
    public var files = 0
    /// How many invariants were checked, SQLite's own among them.
    public var invariants = 0
    /// Empty when all is well.
    public var findings: [Finding] = []
}

extension SQLiteStorageEngine {
    /// The path of a database's file, for messages.
    package func path(of address: DatabaseAddress) -> String { placement.path(of: address) }

    /// The most violations of one invariant that are reported for one file.
    private static let violationsPerInvariant = 20

    /// Checks that every database is intact and that its rows are consistent.
    ///
    /// Only reads, in one snapshot for each database; a service may be running on the folder. The time grows with the
    /// amount of data.
    ///
    /// - Throws: ``StorageError`` when the folder cannot be read; a damaged file is a finding.
    public func check() async throws -> FolderCheck {
        var check = FolderCheck()
        await Self.check(placement.directory, DirectoryFile.invariants, into: &check)
        let missing = try await placement.work.run { [placement] in
            try placement.missingDatabases()
        }
        for address in try await databases() + missing {
            let path = path(of: address)
            do {
                try await withDatabase(of: address) {
                    await Self.check(
                        $0, RecordFile.invariants, into: &check, rows: Self.damagedRows)
                }
            } catch let error as StorageError {
                check.files += 1
                check.findings.append(
                    Finding(
                        invariant: "A file can be opened.", path: path, violation: error.message,
                        recoveryAction: .restoreFile))
            }
        }
        for path in try await placement.work.run({ [placement] in try placement.unknownFiles() }) {
            check.findings.append(
                Finding(
                    invariant: "The folder contains only Stratus's files.", path: path,
                    violation: "its name", recoveryAction: .moveFile))
        }
        return check
    }

    static func check(
        _ file: any OpenDatabase, _ invariants: [StoredInvariant], into check: inout FolderCheck,
        rows damaged: @escaping @Sendable (Database, String) throws -> [Finding] = { _, _ in [] }
    ) async {
        check.files += 1
        check.invariants += invariants.count + 2
        do {
            check.findings += try await file.read(.zone) { database in
                var findings = try wholeness(of: database, path: file.path)
                // Rows of a damaged file are not reliable.
                guard findings.isEmpty else { return findings }
                findings += try damaged(database, file.path)
                for invariant in invariants {
                    try SQLStatement(database, invariant.violations).rows { row in
                        findings.append(
                            Finding(
                                invariant: invariant.sentence, path: file.path,
                                violation: row.text(0), recoveryAction: invariant.recoveryAction))
                        return findings.count < violationsPerInvariant
                    }
                }
                return findings
            }
        } catch {
            // Any error is the finding: it keeps the file from being read.
            let message = (error as? StorageError)?.message ?? String(describing: error)
            check.findings.append(
                Finding(
                    invariant: "A file can be read.", path: file.path, violation: message,
                    recoveryAction: .restoreFile))
        }
    }

    /// The rows whose checksum does not match, of a database of records.
    static func damagedRows(
        of database: Database, path: String
    ) throws -> [Finding] {
        var findings: [Finding] = []
        try SQLiteTransaction(database).damagedRows { row in
            findings.append(
                Finding(
                    invariant: "A row has the checksum that was computed when it was written.",
                    path: path, violation: "the \(row.kind) \(row.name)", recoveryAction: .dropRow))
            return findings.count < violationsPerInvariant
        }
        return findings
    }

    /// SQLite's own check of pages and indexes.
    private static func wholeness(of database: Database, path: String) throws -> [Finding] {
        try SQLStatement(database, "PRAGMA integrity_check(\(violationsPerInvariant))")
            .all { $0.text(0) }
            .filter { $0 != "ok" }
            .map {
                Finding(
                    invariant: "A file's pages and indexes are intact.", path: path, violation: $0,
                    recoveryAction: .restoreFile)
            }
    }
}
