import StratusRecords

/// What a session's driver must do next.
public enum SyncStep: Hashable, Sendable {
    /// Perform this operation, then pass its outcome to the session.
    case perform(SyncOperation)
    /// There is work, but not before this time of the session's clock, in seconds. Any event may
    /// change that.
    case wait(untilUptimeSeconds: Double)
    /// Nothing is pending and nothing is left to fetch. If there is a time, in seconds of the session's clock, ask
    /// again then.
    case rest(untilUptimeSeconds: Double?)
    /// Nothing happens until ``SyncSession/restart(at:)``.
    case halted(HaltReason)
}

/// One operation on the cloud database. A session never has two at a time.
public enum SyncOperation: Hashable, Sendable {
    /// Create and delete these zones, as many as fit into one request.
    case modifyZones(create: [ZoneID], delete: [ZoneID])
    /// Save the database subscription.
    case saveSubscription
    /// Fetch which zones changed.
    case fetchDatabaseChanges
    /// Fetch one page of the changes in this zone.
    case fetchZoneChanges(ZoneID)
    /// Send the oldest pending changes: as many as fit both limits, at least one.
    case send(itemLimit: Int, bytesLimit: Int)
}

/// The two kinds of work that an app can request.
public enum SyncActivity: Hashable, Sendable {
    /// Fetching the changes of the database and of its zones.
    case fetching
    /// Creating and deleting zones, and sending the changes of records.
    case sending
}

extension SyncOperation {
    /// The activity of the operation; nil for the subscription, which is neither.
    public var activity: SyncActivity? {
        switch self {
        case .fetchDatabaseChanges, .fetchZoneChanges: .fetching
        case .modifyZones, .send: .sending
        case .saveSubscription: nil
        }
    }
}

/// Which zones are fetched now.
public struct FetchScope: Sendable {
    /// The zones to fetch before all others.
    public var firstZones: [ZoneID]
    /// Whether a zone is fetched now; others wait.
    public var contains: @Sendable (ZoneID) -> Bool

    /// Makes a scope; by default all zones are fetched, in the session's own order.
    public init(
        firstZones: [ZoneID] = [], contains: @escaping @Sendable (ZoneID) -> Bool = { _ in true }
    ) {
        self.firstZones = firstZones
        self.contains = contains
    }
}

/// The state of a file with which a session starts.
public struct SyncBacklog: Hashable, Sendable {
    /// The zones to create, which is done before records are sent.
    public var zonesToCreate: [ZoneID]
    /// The zones to delete at the service, with all their records.
    public var zonesToDelete: [ZoneID]
    /// The zones to delete that must be created again afterwards.
    public var zonesToReplace: [ZoneID]
    /// Zones that are known to have changed and were not fetched to their end.
    public var zonesToFetch: [ZoneID]
    /// Whether the database subscription was saved already, so that the session need not save it.
    public var isSubscriptionSaved: Bool
    /// Whether any change of a record can be sent.
    public var hasPendingChanges: Bool
    /// Whether syncing is turned on.
    public var isEnabled: Bool

    /// Makes a backlog; by default that of a new file.
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

/// What the driver must store after an operation failed as a whole.
public enum FailureEffect: Hashable, Sendable {
    /// Remove the database's change token; the next answer is the whole list of zones.
    case dropDatabaseToken
    /// Remove the zone's change token; records that the full fetch does not contain are deleted.
    case dropZoneToken(ZoneID)
    /// The person removed the app's data of this zone.
    case zonePurged(ZoneID)
    /// Set the single item of this batch aside with the error.
    case setAsideBatch(SyncFailure)
}

/// What the driver must store about one item that was sent.
public enum ItemDisposition: Hashable, Sendable {
    /// Remove it from the queue, unless it was edited meanwhile.
    case confirmed
    /// Call the resolver, then keep the item pending with the service's change tag.
    case conflict
    /// Ask the resolver about an edit of a deleted record.
    case deletedElsewhere
    /// Leave it unchanged.
    case pending
    /// Leave it pending, after all others, and count the attempt.
    case countAttempt
    /// Move it to the list that needs attention.
    case setAside(SyncFailure)
}

/// The outcome of one item of a batch.
public struct ItemOutcome: Hashable, Sendable {
    /// The change as it was when it was sent; the record may have been edited since.
    public var change: PendingChange
    /// The item's failure; nil when the service confirmed the change.
    public var failure: SyncFailure?
    /// Whether it is the outcome of uploading a file of the record, before the record is sent.
    public var isUpload: Bool

    /// Makes an outcome; without a failure the service has confirmed the change.
    public init(_ change: PendingChange, failure: SyncFailure? = nil, isUpload: Bool = false) {
        self.change = change
        self.failure = failure
        self.isUpload = isUpload
    }
}
