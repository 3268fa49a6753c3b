import StratusRecords

/// Makes all decisions of syncing one database. It is a value without a clock, and it does not wait, read or write.
///
/// A driver calls `next(at:)`, performs the step, and passes the outcome to the session, as well as
/// events from outside. Times are seconds of any monotonic clock.
///
/// Invariants:
/// * There is one operation at a time; its content is decided when it starts.
/// * Zones and the subscription are created first, and once: the driver stores them.
/// * Changes are fetched before local ones are sent, so that saves have current change tags; after
///   each fetch round one batch is sent before the next round, so that neither starves.
/// * A fetch round counts as one operation for the pacer: the database, then its zones, page by
///   page.
/// * A failure removes nothing from the queue: only a confirmed item leaves it.
///
/// ```swift
/// var session = SyncSession(settings: SyncSettings())
/// session.localChange(at: 0)
/// switch session.next(at: 1) {
/// case .perform(let operation): print("send or fetch, then pass on the outcome:", operation)
/// case .wait(let uptimeSeconds): print("ask again at", uptimeSeconds)
/// case .rest: print("ask again after an event")
/// case .halted(let reason): print("ask a person:", reason)
/// }
/// ```
public struct SyncSession: Sendable {
    /// The limits, pauses and policies, which do not change while the session exists.
    public let settings: SyncSettings

    // The work to do.
    var zonesToCreate: [ZoneID]
    var zonesToDelete: [ZoneID]
    /// Zones that were deleted and are wanted again: the old content must be deleted first.
    var zonesToReplace: Set<ZoneID> = []
    /// Zones that are known to have changes and were not fetched to their end, in the order in which they were noted.
    public internal(set) var zonesToFetch: [ZoneID]
    /// Which of the zones are fetched now, and which first.
    public var fetchScope = FetchScope()
    /// Zones for which a hint arrived while one of their pages was being fetched.
    var zonesToFetchAgain: Set<ZoneID> = []
    /// Zones to fetch that failed permanently; they are tried again after a change, with the next
    /// fetch of the database, or by a person's request.
    var zonesGivenUp: Set<ZoneID> = []
    /// Missing zones: the database's changes will show whether they were deleted.
    public internal(set) var unconfirmedZones: [ZoneID] = []
    var needsSubscription: Bool
    var needsDatabaseFetch = true
    package internal(set) var hasPendingChanges: Bool
    /// Whether a fetch round ended while changes were pending: sending comes next.
    var owesSend = false
    /// Whether a fetch round is running: the database's changes and the pages of its zones follow
    /// each other without a pause.
    package internal(set) var isFetchingRound = false
    /// Zones whose changes were fetched in this round, and of which there was a hint meanwhile.
    var zonesOfNextRound: Set<ZoneID> = []
    /// Whether a listener is open, so that the service sends notifications of changes.
    var isListening = false

    // When to do it.
    var pacer: Pacer
    /// Random numbers for the pauses after failures.
    let random: @Sendable () -> Double
    var batchSize: BatchSize
    var batchBytes: BatchBytes
    var zoneBatchSize: BatchSize
    var sendNotBeforeUptimeSeconds: Double = 0
    package internal(set) var nextFetchUptimeSeconds: Double?
    /// When the subscription was saved, or assumed to exist.
    var subscriptionUptimeSeconds: Double?

    /// Owners whose quota is exceeded, and when saves into their zones are tried again, in seconds.
    var quotaRetries: [String: Double] = [:]
    /// Fetches whose token expired and that have not succeeded since.
    var expiredFetches: Set<SyncOperation> = []
    /// Zones whose token expired: they may have been deleted and created again, which only the
    /// database's changes show, so these are fetched first.
    var zonesExpired: Set<ZoneID> = []

    var failedBatchCount = 0

    // The status.
    /// The operation that is being performed; nil between operations.
    public internal(set) var operation: SyncOperation?
    /// The operation that ended last, regardless of its outcome; nil before the first one.
    public internal(set) var lastOperation: SyncOperation?
    /// Why the session halted; nil while it has not.
    public internal(set) var halt: HaltReason?
    /// False after a failure of the network, until something succeeds.
    public internal(set) var isNetworkReachable = true
    /// Consecutive failures, without those of the network.
    public internal(set) var retryCount = 0
    /// The last failure; nil again after a success, unless a quota is still exceeded.
    public internal(set) var lastFailure: SyncFailure?
    /// Whether a zone owner's quota is exceeded, so that saves into their zones wait.
    public internal(set) var isQuotaExceeded = false
    /// Whether syncing is turned on; local work continues without it.
    public internal(set) var isEnabled = true

    /// - Parameters:
    ///   - settings: how fast to sync, and how much at once.
    ///   - backlog: the state in the file.
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

    /// Whether there is something to do, now or after a pause; saves that wait for quota are not
    /// counted.
    public var hasWork: Bool { nextOperation(at: .infinity) != nil }

    /// Returns what to do now. An operation to perform counts as begun.
    ///
    /// - Parameter activity: the only activity to perform; nil means all, in the session's own
    ///   order.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func next(
        at uptimeSeconds: Double, only activity: SyncActivity? = nil
    ) -> SyncStep {
        if let halt { return .halted(halt) }
        guard isEnabled else { return .rest(untilUptimeSeconds: nil) }
        precondition(
            operation == nil,
            "The session's operation has not ended; tell the session how it ended, then ask again.")
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
        // A hint during the request leads to another fetch.
        if planned == .fetchDatabaseChanges { needsDatabaseFetch = false }
        operation = planned
        return .perform(planned)
    }

    /// The next operation, regardless of when it may start.
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
        if !unconfirmedZones.isEmpty { return .fetchDatabaseChanges }
        if let zones = zonesOperation { return zones }
        if needsSubscription { return .saveSubscription }
        // First the database's changes, which show whether a zone was deleted or created again: a
        // full fetch of the zone does not.
        if needsDatabaseFetch, !isFetchingRound, !sendComesFirst { return .fetchDatabaseChanges }
        // A fetch round is finished before anything else starts.
        if let zone = nextZone, isFetchingRound || !sendComesFirst {
            return .fetchZoneChanges(zone)
        }
        if needsDatabaseFetch, !sendComesFirst { return .fetchDatabaseChanges }
        return nextSend
    }

    /// Zones are created before their records are sent.
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

    /// The earliest of these times and of the times at which saves after an exceeded quota are
    /// retried.
    private func earliest(_ times: Double?...) -> Double? {
        (times.compactMap(\.self) + quotaRetries.values).min()
    }

    /// The database is fetched before its zones, but not between the zones of a round.
    private var nextFetch: SyncOperation? {
        if needsDatabaseFetch, !isFetchingRound { return .fetchDatabaseChanges }
        if let zone = nextZone { return .fetchZoneChanges(zone) }
        return needsDatabaseFetch ? .fetchDatabaseChanges : nil
    }

    private var nextZone: ZoneID? {
        // A preferred zone that changed meanwhile is fetched again in the next round, so that others get their turn.
        fetchScope.firstZones.first {
            zonesToFetch.contains($0) && isFetchable($0)
                && !(isFetchingRound && zonesOfNextRound.contains($0))
        } ?? zonesToFetch.first { isFetchable($0) }
    }

    private func isFetchable(_ zone: ZoneID) -> Bool {
        fetchScope.contains(zone) && !zonesGivenUp.contains(zone) && !zonesExpired.contains(zone)
    }

    /// Whether every zone was fetched to its end or given up, or is not to be fetched now.
    var areZonesDone: Bool { zonesToFetch.allSatisfy { isDone($0) } }

    /// Whether every zone was fetched to its end or given up, is not to be fetched now, or is one of some zones.
    package func areZonesDone(besides zones: Set<ZoneID>) -> Bool {
        zonesToFetch.allSatisfy { isDone($0) || zones.contains($0) }
    }

    func isDone(_ zone: ZoneID) -> Bool {
        zonesGivenUp.contains(zone) || !fetchScope.contains(zone)
    }

    /// The result of ``next(at:only:)``, without beginning an operation.
    public func preview(at uptimeSeconds: Double, only activity: SyncActivity? = nil) -> SyncStep {
        var copy = self
        return copy.next(at: uptimeSeconds, only: activity)
    }

    /// Whether changes are sent before the next fetch.
    package func isSendNext(at uptimeSeconds: Double) -> Bool {
        nextOperation(at: uptimeSeconds)?.activity == .sending
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
