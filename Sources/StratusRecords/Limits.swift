/// Every limit of the service by name; both sides read them here.
///
/// The defaults are the figures Apple documents for the framework (see `limitExceeded` in CKError's
/// documentation) or for the web service (its page "Property Metrics"); where the two disagree, the
/// framework's figure is the default and the other is one setting away.
///
/// ```swift
/// var limits = Limits()
/// limits.operationsPerRequest = 200  // as the web documents have it
/// ```
public struct Limits: Hashable, Sendable {
    /// Operations in one modify request, and items in one lookup.
    public var operationsPerRequest = 400

    /// Records (or zones) of a page when the request does not ask for a number.
    public var recordsPerPage = 200

    /// Records of a page at the most, whatever the request asks for. CloudKit itself stops at 200; the
    /// rest is an extension of ours.
    public var maximumRecordsPerPage = 2_000

    /// Bytes of the records of one answer with changes, after which the rest is left to the next pages.
    /// An answer is made in memory.
    public var changedBytesPerAnswer = 16_000_000

    /// Bytes of the records of one answer to a query, after which the rest is left to the next pages.
    public var queriedBytesPerAnswer = 16_000_000

    /// Records that one query looks at; when they are used up, the answer has what was found and a
    /// continuation marker.
    public var recordsScannedPerQuery = 10_000

    /// Bytes of the records that one query looks at, to the same effect.
    public var bytesScannedPerQuery = 64_000_000

    /// Records with equal first sort keys that a query puts in order in memory; where there are more,
    /// it follows the index of the next sort key.
    public var recordsSortedTogether = 1_000

    /// Records added to new indexes in one transaction.
    public var recordsPerIndexStep = 200

    /// Bytes of these records, after which the step ends.
    public var bytesPerIndexStep = 4_000_000

    /// Entries of a given-up index removed in one transaction.
    public var entriesPerIndexStep = 2_000

    /// Bytes of a record without its assets, measured on its stored fields.
    public var recordBytes = 1_000_000

    /// Bytes of a request's body. Apple names 2 MB for the payload of an operation; a JSON body with
    /// its base64 is larger.
    public var requestBodyBytes = 8_000_000

    /// Fields of one record.
    public var fieldsPerRecord = 256

    /// References with the action DELETE_SELF or VALIDATE of one record, those in lists included.
    public var referencesPerRecord = 750

    /// Records that refer to one record with DELETE_SELF.
    public var sourcesPerTarget = 750

    /// Records that one request deletes besides those that it names, by DELETE_SELF: all in one
    /// transaction.
    public var recordsPerCascade = 10_000

    /// Changes of a zone after which the states that they replaced are forgotten. Until then a
    /// conflict can carry the ancestor.
    public var ancestorChanges: Int64 = 4_000

    /// Bytes of a record's fields above which a replaced state is not kept.
    public var ancestorBytes = 16_000

    /// How long tombstones are kept at least, in seconds: 180 days.
    public var tombstoneSeconds: Double = 180 * 24 * 3600

    /// The part of a zone's rows that tombstones must be for old ones to be purged.
    public var tombstoneShare = 0.25

    /// Tombstones purged in one transaction.
    public var tombstonesPerPurge = 1_000

    /// How often a database is looked at for old tombstones, in seconds: once a day, when it is saved
    /// to.
    public var purgeIntervalSeconds: Double = 24 * 3600

    /// How long a change token lasts, in seconds. Without end by default: tokens expire with the
    /// history that they belong to.
    public var changeTokenSeconds: Double = .infinity

    /// Fields of one record type, without the system's own.
    public var fieldsPerRecordType = 256

    /// Record types of one container. Apple names no figure.
    public var recordTypesPerContainer = 1_000

    /// Roles of one container, without the built-in ones. Apple names no figure.
    public var rolesPerContainer = 100

    /// Bytes of a schema in the text language. Apple names no figure.
    public var schemaTextBytes = 16_000_000

    /// Zones of one database.
    public var zonesPerDatabase = 1_000

    /// Subscriptions of one user in one database.
    public var subscriptionsPerUser = 1_000

    /// Filters and sort keys of one query.
    public var filtersPerQuery = 100

    /// Values in the list of one filter. CloudKit's own refusal names the figure: "Query filter exceeds
    /// the limit of values: 250 for container".
    public var valuesPerFilter = 250

    /// Bytes of one subscription with its query and texts: it is kept in memory, and its texts are in
    /// every notification.
    public var subscriptionBytes = 64_000

    /// Bytes of the additional fields of one notification; the last ones are left out of a larger one.
    /// Apple's push service takes 4 KB in all.
    public var notificationFieldBytes = 2_048

    /// Notifications kept for a device that is not listening; the oldest give way.
    public var notificationsPerDevice = 100

    /// Devices of one user that are served with notifications; the longest unused give way.
    public var devicesPerUser = 100

    /// How long a web-auth token lasts after it was issued, in seconds: 30 minutes.
    public var webAuthTokenSeconds: Double = 30 * 60

    /// How long it lasts when the user asked to stay signed in, in seconds: two weeks.
    public var staySignedInSeconds: Double = 14 * 24 * 3600

    /// How long a long poll is held open without news, in seconds.
    public var longPollSeconds: Double = 50

    /// How long a client may take to send its request's body, in seconds.
    public var requestReadSeconds: Double = 30

    /// How long a connection may stay open between two requests, in seconds.
    public var connectionIdleSeconds: Double = 75

    /// How long a push token is valid after its creation, in seconds: 12 hours, renewed at each use.
    public var pushTokenSeconds: Double = 12 * 3600

    public init() {}
}
