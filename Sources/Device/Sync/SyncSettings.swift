import StratusRecords

/// What the sync layer is told at its start; every queue, pause, retry and size has its limit here.
///
/// ```swift
/// var settings = SyncSettings()
/// settings.fetchIntervalSeconds = 15  // where no notifications come through
/// ```
public struct SyncSettings: Hashable, Sendable {
    /// Items in one upload at the most. CloudKit documents 400.
    public var itemsPerBatch = 400

    /// Bytes of fields in one upload, as the cache stores them. CloudKit documents 2 MB a request.
    public var bytesPerBatch = 1_500_000

    /// How many operations begin in a second, once a burst is used up. `infinity` is no bound.
    ///
    /// The pages of a round of fetching count as its first operation.
    public var operationsPerSecond: Double = 10

    /// How many operations may follow one another without a pause before the rate counts.
    public var operationsInBurst = 20

    /// A pause between the end of an operation and the start of the next, in seconds.
    public var minimumDelaySeconds: Double = 0

    /// The pause never grows beyond this, in seconds, unless the service asks for more.
    public var maximumDelaySeconds: Double = 300

    /// The pause after a first failure when the pause was shorter, in seconds; doubled from there.
    public var firstRetryDelaySeconds: Double = 2

    /// How many failures in a row a session bears before it halts. Being offline does not count.
    public var maximumRetries = 8

    /// How many failures in a row a person who asked to sync now waits for. They hear of a missing
    /// network at once.
    public var retriesOfSyncNow = 3

    /// How long to wait before trying a network that was not there, in seconds, at the most.
    public var maximumOfflineDelaySeconds: Double = 30

    /// How long uploads rest after the service said that the quota is used up, in seconds.
    public var quotaRetrySeconds: Double = 300

    /// How many times one record may be resolved and sent again before it is set aside.
    public var maximumConflictRounds = 10

    /// How many times one record may fail for an unexplained reason before it is set aside.
    public var maximumItemAttempts = 5

    /// How long a local change waits for further ones before it is uploaded, in seconds.
    public var coalescingSeconds: Double = 0.02

    /// A running session asks for changes this often even when nobody told it of any, in seconds;
    /// nil is never.
    ///
    /// Not while the service's notifications come through: while a listener is open and the database
    /// subscription is this session's own.
    public var fetchIntervalSeconds: Double? = 60

    /// Records in one page of a zone's changes; nil leaves it to the service, and asks our own for 2,000 where all
    /// of a zone is fetched.
    public var recordsPerPage: Int?

    /// Bytes of a zone's changes that are asked for while others are written, about; what came of them is written
    /// together. With 0 it is one page.
    package var pageAheadBytes = 12_000_000

    /// Whether an upload is all or nothing within each custom zone.
    public var isAtomic = false

    /// The zones to keep on this device.
    public var zones = ZoneSelection.all

    /// What becomes of local records when their zone was deleted elsewhere.
    public var zoneDeletionPolicy = ZoneDeletionPolicy.remove

    /// Who deals with a failure that no retry cures.
    public var failurePolicy = FailurePolicy.heal

    /// Whether a database subscription is kept, so that the service tells of changes.
    public var savesSubscription = true

    /// How long the service is trusted to keep the database subscription, in seconds. Then a running session
    /// saves it again, in case somebody deleted it, and fetches what may have been missed. Only where
    /// there is a ``fetchIntervalSeconds``.
    public var subscriptionIntervalSeconds: Double = 900

    /// How many reports of what was lost or overruled wait for the app, for each database; beyond that the
    /// oldest go, and one says how many.
    public var reportsKept = 10_000

    /// How many bytes of such reports.
    public var reportBytesKept = 64_000_000

    /// Whether the running loop listens to the service itself. Turn it off where the app is handed
    /// notifications, and pass them on.
    public var listensForNotifications = true

    public init() {}

    /// The pace of Apple's own service: two seconds between operations, as CloudSyncSession found
    /// that it takes. A cache that is connected to that service keeps it by itself.
    public static var iCloud: SyncSettings {
        var settings = SyncSettings()
        settings.minimumDelaySeconds = iCloudDelaySeconds
        settings.coalescingSeconds = 0.1
        return settings
    }

    package static let iCloudDelaySeconds: Double = 2
}

/// Who deals with a failure that no retry cures.
public enum FailurePolicy: Hashable, Sendable {
    /// The session and the app's resolver: `StratusCache`, which has the records at hand.
    case heal
    /// The app, item by item, as `CKSyncEngine` has it: what failed leaves the queue and is told.
    case report
}

/// Which zones of a database a device keeps.
public enum ZoneSelection: Hashable, Sendable {
    case all
    case only(Set<ZoneID>)

    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .only(let zones): zones.contains(zone)
        }
    }
}

/// What becomes of a zone's local records when somebody deleted the zone elsewhere.
public enum ZoneDeletionPolicy: Hashable, Sendable {
    /// The rows and their pending changes go; the app is told which changes were pending.
    case remove
    /// The zone is created anew and every local record is uploaded again.
    case recreate
}
