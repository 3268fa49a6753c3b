import StratusRecords

/// All decisions of syncing one database, as a value: no clock, no waiting, no input or output.
///
/// A shell asks `next(at:)` what to do, does it, and tells the session what came of it; events from
/// outside are told as they happen. Times are seconds of any clock that never goes back.
///
/// Invariants:
/// * One operation at a time; what it shall do is decided when it starts, not before.
/// * Zones and the subscription come first, and once: the shell remembers them.
/// * Changes are fetched before local ones are sent, so that saves go out with fresh change tags;
///   after each round of fetching one batch is sent before another round, so that neither starves.
/// * A round of fetching is one operation to the pace: the database, then its zones, page by page.
/// * A failure takes nothing out of the queue: only a confirmed item leaves it.
public struct SyncSession: Sendable {
    public let settings: SyncSettings

    // What is to be done.
    var zonesToCreate: [ZoneID]
    var zonesToDelete: [ZoneID]
    /// Zones that were deleted and are wanted again: the old content must go first.
    var zonesToReplace: Set<ZoneID> = []
    public internal(set) var zonesToFetch: [ZoneID]
    /// Which of them are fetched now, and which first.
    public var focus = FetchFocus()
    /// Zones that somebody hinted at while a page of theirs was under way.
    var zonesToFetchAgain: Set<ZoneID> = []
    /// Those of the zones to fetch that failed for good; they wait for a reason to try again: a change,
    /// the next fetch of the database, or a person.
    var zonesGivenUp: Set<ZoneID> = []
    /// Zones that were missing: the database's changes tell whether somebody deleted them.
    public internal(set) var zonesInDoubt: [ZoneID] = []
    var needsSubscription: Bool
    var needsDatabaseFetch = true
    package internal(set) var hasPendingChanges: Bool
    /// A round of fetching ended while something was pending: sending comes first.
    var owesSend = false
    /// A round of fetching is under way: the database's changes and the pages of its zones follow each
    /// other without a pause.
    var isFetchingRound = false
    /// Whether the service tells of changes: a listener is open.
    var isListening = false

    // When.
    var pacer: Pacer
    /// Chance, for the pauses after failures.
    let random: @Sendable () -> Double
    var batchSize: BatchSize
    var batchBytes: BatchBytes
    var zoneBatchSize: BatchSize
    var sendNotBeforeUptimeSeconds: Double = 0
    package internal(set) var nextFetchUptimeSeconds: Double?
    /// When the subscription was saved, or first counted on.
    var subscriptionUptimeSeconds: Double?

    /// Owners whose quota is used up, and when saves into their zones are tried again, in seconds.
    var quotaRetries: [String: Double] = [:]
    /// Fetches whose token expired and that have not succeeded since.
    var expiredFetches: Set<SyncOperation> = []
    /// Zones whose token expired: they may have been deleted and made again, which only the database's
    /// changes tell, so these come first.
    var zonesExpired: Set<ZoneID> = []

    var fruitlessBatchCount = 0

    // How it goes.
    public internal(set) var operation: SyncOperation?
    public internal(set) var lastOperation: SyncOperation?
    public internal(set) var halt: HaltReason?
    /// False after a failure of the network, until something succeeds.
    public internal(set) var isNetworkReachable = true
    /// Failures in a row, those of the network not counted.
    public internal(set) var retryCount = 0
    public internal(set) var lastFailure: SyncFailure?
    public internal(set) var isQuotaExceeded = false
    /// The switch that turns sync off; local work goes on.
    public internal(set) var isEnabled = true

    /// - Parameters:
    ///   - settings: how fast to sync, and how much at once.
    ///   - backlog: what the file remembers.
    ///   - random: numbers from 0 up to 1 that lengthen the pauses after failures.
    public init(
        settings: SyncSettings = SyncSettings(), backlog: SyncBacklog = SyncBacklog(),
        random: @escaping @Sendable () -> Double = { 0 }
    ) {
        self.settings = settings
        self.random = random
        zonesToCreate = backlog.zonesToCreate
        zonesToDelete = backlog.zonesToDelete
        zonesToReplace = Set(backlog.zonesToReplace)
        zonesToFetch = backlog.zonesToFetch
        needsSubscription = settings.savesSubscription && !backlog.isSubscriptionSaved
        hasPendingChanges = backlog.hasPendingChanges
        pacer = Pacer(settings)
        batchSize = BatchSize(maximum: settings.itemsPerBatch)
        batchBytes = BatchBytes(maximum: settings.bytesPerBatch)
        zoneBatchSize = BatchSize(maximum: settings.itemsPerBatch)
        isEnabled = backlog.isEnabled
    }

    /// The pause after the next operation, in seconds.
    public var delaySeconds: Double { pacer.delaySeconds }

    /// Whether nothing is left to do now; a planned fetch at a later time does not count.
    public var isAtRest: Bool { operation == nil && !hasWork && quotaRetries.isEmpty }

    /// Whether there is something to do, be it after a pause; what waits for room does not count.
    public var hasWork: Bool { nextOperation(at: .infinity) != nil }

    /// Decides what to do now. A step to perform counts as begun.
    ///
    /// - Parameter activity: nothing else is done; nil is everything, in the session's own order.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func next(
        at uptimeSeconds: Double, only activity: SyncActivity? = nil
    ) -> SyncStep {
        if let halt { return .halted(halt) }
        guard isEnabled else { return .rest(untilUptimeSeconds: nil) }
        precondition(operation == nil, "Tell the session how its operation ended before the next.")
        resumeSaves(at: uptimeSeconds)
        if let nextFetchUptimeSeconds, nextFetchUptimeSeconds <= uptimeSeconds {
            fetchIsDue(at: uptimeSeconds)
        }
        guard let planned = nextOperation(at: uptimeSeconds, only: activity) else {
            isFetchingRound = false
            return .rest(untilUptimeSeconds: earliest(nextFetchUptimeSeconds))
        }
        let ready = readyTime(for: planned)
        if ready > uptimeSeconds {
            return .wait(untilUptimeSeconds: earliest(nextFetchUptimeSeconds, ready) ?? ready)
        }
        if !continuesRound(planned) { pacer.began(at: uptimeSeconds) }
        if case .fetchZoneChanges = planned {
            isFetchingRound = true
        } else {
            isFetchingRound = false
        }
        // A hint that comes while the answer is under way asks for another fetch.
        if planned == .fetchDatabaseChanges { needsDatabaseFetch = false }
        operation = planned
        return .perform(planned)
    }

    /// The operation whose turn it is, whenever it may start.
    func nextOperation(
        at uptimeSeconds: Double, only activity: SyncActivity? = nil
    ) -> SyncOperation? {
        switch activity {
        case .fetching: return nextFetch
        case .sending: return nextSend
        case nil: break
        }
        let sendComesFirst =
            owesSend && hasPendingChanges && sendNotBeforeUptimeSeconds <= uptimeSeconds
        if !zonesInDoubt.isEmpty { return .fetchDatabaseChanges }
        if let zones = zonesOperation { return zones }
        if needsSubscription { return .saveSubscription }
        // First whether a zone was deleted or made again: a full fetch of it cannot tell.
        if needsDatabaseFetch, !isFetchingRound, !sendComesFirst { return .fetchDatabaseChanges }
        // A round of fetching is finished before anything else starts.
        if let zone = nextZone, isFetchingRound || !sendComesFirst {
            return .fetchZoneChanges(zone)
        }
        if needsDatabaseFetch, !sendComesFirst { return .fetchDatabaseChanges }
        return nextSend
    }

    /// Zones before the records that shall be in them.
    private var nextSend: SyncOperation? {
        if let zones = zonesOperation { return zones }
        guard hasPendingChanges else { return nil }
        return .send(itemLimit: batchSize.itemLimit, bytesLimit: batchBytes.bytesLimit)
    }

    private var zonesOperation: SyncOperation? {
        guard !zonesToCreate.isEmpty || !zonesToDelete.isEmpty else { return nil }
        let create = zonesToCreate.prefix(zoneBatchSize.itemLimit)
        let delete = zonesToDelete.prefix(zoneBatchSize.itemLimit - create.count)
        return .modifyZones(create: Array(create), delete: Array(delete))
    }

    /// The earliest of these times and of those at which a full quota is tried again.
    private func earliest(_ times: Double?...) -> Double? {
        (times.compactMap(\.self) + quotaRetries.values).min()
    }

    /// The database before its zones, but not between the zones of a round.
    private var nextFetch: SyncOperation? {
        if needsDatabaseFetch, !isFetchingRound { return .fetchDatabaseChanges }
        if let zone = nextZone { return .fetchZoneChanges(zone) }
        return needsDatabaseFetch ? .fetchDatabaseChanges : nil
    }

    private var nextZone: ZoneID? {
        focus.firstZones.first { zonesToFetch.contains($0) && isFetchable($0) }
            ?? zonesToFetch.first { isFetchable($0) }
    }

    private func isFetchable(_ zone: ZoneID) -> Bool {
        focus.contains(zone) && !zonesGivenUp.contains(zone) && !zonesExpired.contains(zone)
    }

    /// Whether every zone was fetched to its end, or given up.
    var areZonesDone: Bool { zonesToFetch.allSatisfy { zonesGivenUp.contains($0) } }

    /// What ``next(at:only:)`` would say, with nothing begun.
    public func preview(at uptimeSeconds: Double, only activity: SyncActivity? = nil) -> SyncStep {
        var copy = self
        return copy.next(at: uptimeSeconds, only: activity)
    }

    private func continuesRound(_ operation: SyncOperation) -> Bool {
        if case .fetchZoneChanges = operation { isFetchingRound } else { false }
    }

    private func readyTime(for operation: SyncOperation) -> Double {
        switch operation {
        case .fetchZoneChanges
        where continuesRound(operation) && retryCount == 0 && isNetworkReachable: 0
        case .send: max(pacer.readyUptimeSeconds, sendNotBeforeUptimeSeconds)
        default: pacer.readyUptimeSeconds
        }
    }
}
