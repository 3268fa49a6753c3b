import StratusRecords

/// What a session asks its shell to do next.
public enum SyncStep: Hashable, Sendable {
    /// Do this, then tell the session how it ended.
    case perform(SyncOperation)
    /// There is work, but not before this time of the session's clock, in seconds. Any event may
    /// change that.
    case wait(untilUptimeSeconds: Double)
    /// Nothing is pending and nothing is left to fetch. With a time, in seconds: look again then.
    case rest(untilUptimeSeconds: Double?)
    /// Nothing happens until ``SyncSession/restart(at:)``.
    case halted(HaltReason)
}

/// One operation on the cloud database. A session never has two at a time.
public enum SyncOperation: Hashable, Sendable {
    /// Create and delete these zones, as many as one request takes.
    case modifyZones(create: [ZoneID], delete: [ZoneID])
    /// Save the database subscription.
    case saveSubscription
    /// Find out which zones changed.
    case fetchDatabaseChanges
    /// Fetch one page of what changed in this zone.
    case fetchZoneChanges(ZoneID)
    /// Send the oldest pending changes: as many as fit both limits, one at least.
    case send(itemLimit: Int, bytesLimit: Int)
}

/// The two kinds of work that an app can ask for by hand.
public enum SyncActivity: Hashable, Sendable {
    case fetching
    case sending
}

extension SyncOperation {
    /// Nil for the subscription, which is neither.
    public var activity: SyncActivity? {
        switch self {
        case .fetchDatabaseChanges, .fetchZoneChanges: .fetching
        case .modifyZones, .send: .sending
        case .saveSubscription: nil
        }
    }
}

/// Which of the zones to fetch are fetched now.
public struct FetchFocus: Sendable {
    /// These before all others.
    public var firstZones: [ZoneID]
    /// Zones that wait for another time do not count.
    public var contains: @Sendable (ZoneID) -> Bool

    public init(
        firstZones: [ZoneID] = [], contains: @escaping @Sendable (ZoneID) -> Bool = { _ in true }
    ) {
        self.firstZones = firstZones
        self.contains = contains
    }
}

/// What a session must know of the file it starts on.
public struct SyncBacklog: Hashable, Sendable {
    public var zonesToCreate: [ZoneID]
    public var zonesToDelete: [ZoneID]
    /// Those of the zones to delete that shall exist again afterwards.
    public var zonesToReplace: [ZoneID]
    /// Zones that are known to have changed and were not fetched to their end.
    public var zonesToFetch: [ZoneID]
    public var isSubscriptionSaved: Bool
    public var hasPendingChanges: Bool
    /// False where somebody turned syncing off and not on again.
    public var isEnabled: Bool

    public init(
        zonesToCreate: [ZoneID] = [], zonesToDelete: [ZoneID] = [],
        zonesToReplace: [ZoneID] = [], zonesToFetch: [ZoneID] = [],
        isSubscriptionSaved: Bool = false, hasPendingChanges: Bool = false,
        isEnabled: Bool = true
    ) {
        self.zonesToCreate = zonesToCreate
        self.zonesToDelete = zonesToDelete
        self.zonesToReplace = zonesToReplace
        self.zonesToFetch = zonesToFetch
        self.isSubscriptionSaved = isSubscriptionSaved
        self.hasPendingChanges = hasPendingChanges
        self.isEnabled = isEnabled
    }
}

/// What the shell must write down after an operation failed as a whole.
public enum FailureEffect: Hashable, Sendable {
    /// Forget the database's change token; the next answer is the whole list of zones.
    case dropDatabaseToken
    /// Forget the zone's change token; what the full fetch does not bring is deleted.
    case dropZoneToken(ZoneID)
    /// The person removed the app's data of this zone.
    case zonePurged(ZoneID)
    /// Set the single item of this batch aside with the error.
    case setAsideBatch(SyncFailure)
}

/// What the shell must write down about one item that was sent.
public enum ItemVerdict: Hashable, Sendable {
    /// Remove it from the queue, unless it was edited meanwhile.
    case confirmed
    /// Ask the resolver, then keep it pending on the service's change tag.
    case conflict
    /// Ask the resolver what becomes of an edit of a deleted record.
    case deletedElsewhere
    /// Leave it as it is.
    case pending
    /// Leave it pending, behind all others, and count the attempt.
    case countAttempt
    /// Move it to the list that needs attention.
    case setAside(SyncFailure)
}

/// How one item of a batch fared.
public struct ItemOutcome: Hashable, Sendable {
    public var change: PendingChange
    /// Nil when the service confirmed the change.
    public var failure: SyncFailure?

    public init(_ change: PendingChange, failure: SyncFailure? = nil) {
        self.change = change
        self.failure = failure
    }
}
