import GRDB
import StratusRecords

/// What the check of a data folder came to.
public struct FolderCheck: Hashable, Sendable {
    /// How many database files there are, the directory among them.
    public var files = 0
    /// How many laws were asked of them, SQLite's own among them.
    public var laws = 0
    /// Empty when all is well.
    public var findings: [Finding] = []
}

extension SQLiteStorehouse {
    /// The path of a database's file, for people.
    public func path(of address: DatabaseAddress) -> String { folder.path(of: address) }

    /// Breaches of one law that are told of one file; more of them say nothing more.
    private static let breachesPerLaw = 20

    /// Asks every file of the folder whether it is whole and its rows fit together.
    ///
    /// Reads only, one snapshot for each file; a service may be at work on the folder. The time grows
    /// with what is stored.
    ///
    /// - Throws: ``StorageError`` when the folder cannot be read; a damaged file is a finding.
    public func check() async throws -> FolderCheck {
        var check = FolderCheck()
        await Self.ask(directoryFile, DirectoryFile.laws, into: &check)
        for address in try await databases() {
            let path = path(of: address)
            do {
                try await withFile(of: address) {
                    await Self.ask($0, RecordFile.laws, into: &check)
                }
            } catch let error as StorageError {
                check.files += 1
                check.findings.append(
                    Finding(law: "A file can be opened.", path: path, breach: error.message))
            }
        }
        for path in try await onDiskThread({ [folder] in try folder.strangers() }) {
            check.findings.append(
                Finding(
                    law: "Nothing lies in the folder that is not Stratus's.", path: path,
                    breach: "its name"))
        }
        return check
    }

    private static func ask(
        _ file: SQLiteFile, _ laws: [StoredLaw], into check: inout FolderCheck
    ) async {
        check.files += 1
        check.laws += laws.count + 1
        do {
            check.findings += try await file.read(.zone) { database in
                var findings = try wholeness(of: database, path: file.path)
                // Rows of a damaged file say nothing.
                guard findings.isEmpty else { return findings }
                for law in laws {
                    try SQLStatement(database, law.breaches).rows { row in
                        findings.append(
                            Finding(law: law.sentence, path: file.path, breach: row.text(0)))
                        return findings.count < breachesPerLaw
                    }
                }
                return findings
            }
        } catch {
            // Whatever keeps a file from being read is what the check is for.
            let message = (error as? StorageError)?.message ?? String(describing: error)
            check.findings.append(
                Finding(law: "A file can be read.", path: file.path, breach: message))
        }
    }

    /// SQLite's own check of pages and indexes.
    private static func wholeness(of database: Database, path: String) throws -> [Finding] {
        try SQLStatement(database, "PRAGMA integrity_check(\(breachesPerLaw))")
            .all { $0.text(0) }
            .filter { $0 != "ok" }
            .map { Finding(law: "A file's pages and indexes are whole.", path: path, breach: $0) }
    }
}
