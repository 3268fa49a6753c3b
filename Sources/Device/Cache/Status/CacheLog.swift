import Logging
import StratusClient
import StratusRuntime

/// The log of syncing: events go to swift-log under the label `stratus.cache`, and the last ones
/// are kept in the file, over restarts.
///
/// Successes are written with the next transaction, failures at once.
struct CacheLog: Sendable {
    /// The maximum number of events in the file.
    static let limit = 500

    let file: CacheFile
    let scope: CKDatabase.Scope?
    let world: World
    private let logger = Logger(label: "stratus.cache")

    init(file: CacheFile, scope: CKDatabase.Scope?, world: World) {
        self.file = file
        self.scope = scope
        self.world = world
    }

    /// - Parameters:
    ///   - isFailure: whether it is written at once; so is every warning.
    ///   - isInTransaction: whether a transaction is running, which writes the event too.
    func note(
        _ level: Logger.Level, _ kind: String, _ details: [String: String] = [:],
        isFailure: Bool = false, isInTransaction: Bool = false
    ) {
        var metadata: Logger.Metadata = ["database": "\(scope?.rawValue ?? 0)"]
        for (key, value) in details { metadata[key] = "\(value)" }
        logger.log(level: level, "\(kind)", metadata: metadata)
        let event = LoggedEvent(
            date: world.now, scope: scope?.rawValue ?? 0, level: level.rawValue, kind: kind,
            details: details)
        file.events.withLock { events in
            events.append(event)
            events.removeFirst(max(0, events.count - Self.limit))
        }
        guard isFailure || level >= .warning, !isInTransaction else { return }
        // If the disk is full or damaged, the event has gone to swift-log, and waits in memory for
        // the next transaction.
        try? file.write { _ in }
    }
}
