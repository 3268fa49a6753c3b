import CoreMetrics
import Logging
import StratusRecords
import StratusRuntime

/// Looks through the databases of a folder one after the other while they are served, slowly: damage that no
/// request meets, such as an index that hides a record, is noticed without `stratus doctor`.
///
/// What is looked at is what ``SQLiteStorageEngine/check()`` looks at: SQLite's own check of pages and
/// indexes, the checksums of rows, and the invariants between tables; then what the stored bytes mean, as
/// the caller knows it. Each database is read in one snapshot.
package struct FolderScrub: Sendable {
    /// A round takes this long at least.
    static let roundSeconds: Double = 7 * 24 * 3600
    /// Nothing is looked at for so long after a start, so that restarts in series do no work for nothing.
    static let startSeconds: Double = 600
    /// For each second of work there are so many of rest: 2 % of one processor at the most.
    static let restPerWork: Double = 49
    /// Between two databases, however small.
    static let leastRestSeconds: Double = 0.1

    private static let checked = Counter(label: "stratus_databases_checked_total")
    private static let found = Counter(label: "stratus_check_findings_total")

    private let storage: SQLiteStorageEngine
    private let world: World
    private let logger: Logger
    private let contents: @Sendable (DatabaseAddress) async throws -> [Finding]

    /// - Parameter contents: Looks at what the rows of a database mean that is whole otherwise.
    package init(
        _ storage: SQLiteStorageEngine, world: World = .live, logger: Logger,
        contents: @escaping @Sendable (DatabaseAddress) async throws -> [Finding] = { _ in [] }
    ) {
        self.contents = contents
        self.storage = storage
        self.world = world
        self.logger = logger
    }

    /// Goes round until its task is cancelled.
    package func run() async {
        do {
            try await world.sleep(Self.startSeconds)
            while true {
                let began = world.uptimeSeconds()
                _ = try await round()
                let rest = Self.roundSeconds - (world.uptimeSeconds() - began)
                try await world.sleep(max(rest, Self.startSeconds))
            }
        } catch {
            // Ends with its task: whatever is wrong with a database is a finding.
        }
    }

    /// Looks at every database once.
    ///
    /// - Returns: What was found; all of it is in the log.
    /// - Throws: `CancellationError`, and what keeps the folder from being listed.
    package func round() async throws -> [Finding] {
        var findings: [Finding] = []
        var addresses = try await storage.databases()
        // A service that is restarted often begins elsewhere each time.
        if !addresses.isEmpty {
            let start = Int(world.random() * Double(addresses.count))
            addresses = Array(addresses[start...] + addresses[..<start])
        }
        for address in addresses {
            let began = world.uptimeSeconds()
            var found = await storage.findings(in: address)
            if found.isEmpty {
                do {
                    found = try await contents(address)
                } catch {
                    // Refused with its reason in the log, or the storage is closed.
                }
            }
            Self.checked.increment()
            for finding in found { report(finding) }
            findings += found
            let work = world.uptimeSeconds() - began
            try await world.sleep(max(Self.leastRestSeconds, work * Self.restPerWork))
        }
        return findings
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
    /// What is wrong with one database. A file that cannot be opened is told when somebody asks for it.
    fileprivate func findings(in address: DatabaseAddress) async -> [Finding] {
        var check = FolderCheck()
        do {
            try await withDatabase(of: address) {
                await Self.check(
                    $0, RecordFile.invariants, into: &check, rows: Self.damagedRows)
            }
        } catch {
            // Refused with its reason in the log, or the storage is closed.
        }
        return check.findings
    }
}
