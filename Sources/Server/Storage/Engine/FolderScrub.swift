import CoreMetrics
import Logging
import StratusRecords
import StratusRuntime

/// Checks the databases of a folder one after the other while they are served, slowly: damage that no request meets,
/// such as an index that hides a record, is noticed without `stratus doctor`.
///
/// The checks are those of ``SQLiteStorageEngine/check()``: SQLite's own check of pages and indexes, the checksums of
/// rows, and the invariants between tables; then the caller's check of the stored bytes. Each database is read in one
/// snapshot.
package struct FolderScrub: Sendable {
    /// The least duration of a round.
    static let roundSeconds: Double = 7 * 24 * 3600
    /// Nothing is checked for this long after a start, so that repeated restarts do not repeat the work.
    static let startSeconds: Double = 600
    /// Seconds of rest for each second of work: at most 2 % of one processor are used.
    static let restPerWork: Double = 49
    /// The least pause between two databases.
    static let leastRestSeconds: Double = 0.1

    private static let checked = Counter(label: "stratus_databases_checked_total")
    private static let found = Counter(label: "stratus_check_findings_total")

    private let storage: SQLiteStorageEngine
    private let world: World
    private let logger: Logger
    private let contents: @Sendable (DatabaseAddress) async throws -> [Finding]

    /// - Parameter contents: Checks the contents of a database whose file and rows are intact.
    package init(
        _ storage: SQLiteStorageEngine, world: World = .live, logger: Logger,
        contents: @escaping @Sendable (DatabaseAddress) async throws -> [Finding] = { _ in [] }
    ) {
        self.contents = contents
        self.storage = storage
        self.world = world
        self.logger = logger
    }

    /// Checks the folder round after round until its task is cancelled.
    package func run() async {
        do {
            try await world.sleep(Self.startSeconds)
            while true {
                let began = world.uptimeSeconds()
                var rest = Self.startSeconds
                do {
                    _ = try await round()
                    rest = max(rest, Self.roundSeconds - (world.uptimeSeconds() - began))
                } catch let error where !(error is CancellationError) && !Task.isCancelled {
                    logger.error(
                        "The data folder cannot be listed, so its databases are not checked. The check is tried again in some minutes.",
                        metadata: ["error": "\(error)"])
                }
                try await world.sleep(rest)
            }
        } catch {
            // The task was cancelled: the service stops.
        }
    }

    /// Checks every database once.
    ///
    /// - Returns: The findings, which are also in the log.
    /// - Throws: `CancellationError`, and the error when the folder cannot be listed.
    package func round() async throws -> [Finding] {
        var findings: [Finding] = []
        var addresses = try await storage.databases()
        // Starts at a random database, so that a service that is restarted often does not always check the same ones.
        if !addresses.isEmpty {
            let start = Int(world.random() * Double(addresses.count))
            addresses = Array(addresses[start...] + addresses[..<start])
        }
        for address in addresses {
            let began = world.uptimeSeconds()
            do {
                let found = try await self.findings(in: address)
                Self.checked.increment()
                for finding in found { report(finding) }
                findings += found
            } catch {
                note(error, of: address)
            }
            let work = world.uptimeSeconds() - began
            try await world.sleep(max(Self.leastRestSeconds, work * Self.restPerWork))
        }
        return findings
    }

    /// The findings in a database's file and rows or, if these are intact, in its contents.
    private func findings(in address: DatabaseAddress) async throws -> [Finding] {
        let found = try await storage.findings(in: address)
        return found.isEmpty ? try await contents(address) : found
    }

    /// Logs why a database was not checked, unless the storage has logged it or is being closed.
    private func note(_ error: any Error, of address: DatabaseAddress) {
        guard !(error is CancellationError), !Task.isCancelled else { return }
        if let error = error as? StorageError, error.database != nil || error.code == .closed {
            return
        }
        logger.warning(
            "A database could not be read, so it was not checked. The next round tries it again.",
            metadata: ["database": "\(address)", "error": "\(error)"])
    }

    private func report(_ finding: Finding) {
        Self.found.increment()
        logger.error(
            "The check of a database found damage. Run stratus doctor.",
            metadata: [
                "path": "\(finding.path)", "invariant": "\(finding.invariant)",
                "violation": "\(finding.violation)",
            ])
    }
}

extension SQLiteStorageEngine {
    /// The findings in the file and the rows of one database.
    ///
    /// - Throws: ``StorageError`` when the file cannot be opened.
    fileprivate func findings(in address: DatabaseAddress) async throws -> [Finding] {
        var check = FolderCheck()
        try await withDatabase(of: address) {
            await Self.check($0, RecordFile.invariants, into: &check, rows: Self.damagedRows)
        }
        return check.findings
    }
}
