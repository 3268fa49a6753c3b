import StratusRecords

/// The settings of the sync layer: the limits of queues, pauses, retries and sizes.
///
/// ```swift
/// var settings = SyncSettings()
/// settings.fetchIntervalSeconds = 15  // where no notifications come through
/// ```
public struct SyncSettings: Hashable, Sendable {
    /// The maximum number of items in one upload. CloudKit documents 400.
    public var itemsPerBatch = 400

    /// The maximum size of the fields in one upload, in bytes as the cache stores them. CloudKit
    /// documents 2 MB per request.
    public var bytesPerBatch = 1_500_000

    /// How many operations may begin per second after a burst. `infinity` means no limit.
    ///
    /// A fetch round with all its pages counts as one operation.
    public var operationsPerSecond: Double = 10

    /// How many operations may follow one another without a pause before the rate applies.
    public var operationsInBurst = 20

    /// A pause between the end of an operation and the start of the next, in seconds.
    public var minimumDelaySeconds: Double = 0

    /// The longest pause, in seconds, unless the service asks for more.
    public var maximumDelaySeconds: Double = 300

    /// The shortest pause after a failure, in seconds; it doubles with each further failure.
    public var firstRetryDelaySeconds: Double = 2

    /// How many consecutive failures a session retries before it halts. Being offline is not
    /// counted.
    public var maximumRetries = 8

    /// How many consecutive failures a sync that the app requested retries before it throws. It
    /// throws at once without a network.
    public var retriesOfSyncNow = 3

    /// The longest pause before a missing network is tried again, in seconds.
    public var maximumOfflineDelaySeconds: Double = 30

    /// How long uploads pause after the service reported an exceeded quota, in seconds.
    public var quotaRetrySeconds: Double = 300

    /// How many times one record may be resolved and sent again before it is set aside.
    public var maximumConflictRounds = 10

    /// How many times one record may fail for an unexplained reason before it is set aside.
    public var maximumItemAttempts = 5

    /// How long a local change waits for further ones before it is uploaded, in seconds.
    public var coalescingSeconds: Double = 0.02

    /// How often a running session fetches changes without a notification, in seconds; nil means
    /// never.
    ///
    /// It does not apply while notifications arrive: while a listener is open and the database
    /// subscription is this session's own.
    public var fetchIntervalSeconds: Double? = 60

    /// The number of records in one page of a zone's changes; nil lets the service decide, except
    /// that Stratus's service is asked for 2,000 in a full fetch.
    public var recordsPerPage: Int?

    /// The approximate size, in bytes, of a zone's changes that are requested while others are
    /// written; they are written together. 0 means one page.
    package var pageAheadBytes = 12_000_000

    /// Whether an upload is atomic within each custom zone.
    public var isAtomic = false

    /// The zones to keep on this device.
    public var zones = ZoneSelection.all

    /// What happens to local records when their zone was deleted elsewhere.
    public var zoneDeletionPolicy = ZoneDeletionPolicy.remove

    /// Who handles a failure that a retry does not resolve.
    public var failurePolicy = FailurePolicy.recover

    /// Whether a database subscription is saved, so that the service sends notifications of
    /// changes.
    public var savesSubscription = true

    /// How often a running session checks that the database subscription still exists, in seconds. If it was deleted,
    /// it is saved again, and changes that may have been missed are fetched. It applies only if there is a
    /// ``fetchIntervalSeconds``.
    public var subscriptionIntervalSeconds: Double = 900

    /// How many reports are kept for the app, for each database; beyond that the oldest are
    /// dropped, those of records that cannot be read before all others, and a report says how many.
    public var reportsKept = 10_000

    /// How many bytes of reports are kept, for each database.
    public var reportBytesKept = 64_000_000

    /// Whether the running loop listens for notifications itself. Turn it off if the app receives
    /// notifications, and pass them on.
    public var listensForNotifications = true

    /// Makes the default settings, which are for Stratus's service; see ``iCloud`` for Apple's.
    public init() {}

    /// The settings for Apple's service: two seconds between operations, which CloudSyncSession
    /// found necessary. A cache that is connected to that service uses this pace by itself.
    public static var iCloud: SyncSettings {
        var settings = SyncSettings()
        settings.minimumDelaySeconds = iCloudDelaySeconds
        settings.coalescingSeconds = 0.1
        return settings
    }

    /// Seconds between two operations with Apple's service; see ``iCloud``.
    package static let iCloudDelaySeconds: Double = 2
}

/// Who handles a failure that a retry does not resolve.
public enum FailurePolicy: Hashable, Sendable {
    /// The session and the app's resolver, as in `StratusCache`, which stores the records.
    case recover
    /// The app, for each item, as with `CKSyncEngine`: a failed item leaves the queue and is
    /// reported.
    case report
}

/// Which zones of a database a device keeps.
public enum ZoneSelection: Hashable, Sendable {
    /// Every zone of the database.
    case all
    /// These zones only; others are neither fetched nor kept.
    case only(Set<ZoneID>)

    /// Whether the selection includes a zone.
    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .only(let zones): zones.contains(zone)
        }
    }
}

/// What happens to a zone's local records when the zone was deleted elsewhere.
public enum ZoneDeletionPolicy: Hashable, Sendable {
    /// The records and their pending changes are removed; the pending changes are reported to the
    /// app.
    case remove
    /// The zone is created again and every local record is uploaded again.
    case recreate
}
