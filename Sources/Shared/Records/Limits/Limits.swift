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

    /// The most records of a page in CloudKit itself; more is an extension of Stratus.
    public static let documentedRecordsPerPage = 200

    /// The most records of a page for clients that know our extensions; others have ``documentedRecordsPerPage``.
    public var maximumRecordsPerPage = 2_000

    /// Bytes of the records of one answer with changes, after which the rest is left to the next pages.
    /// An answer is made in memory.
    public var changedBytesPerAnswer = 16_000_000

    /// Bytes of the records of one answer to a lookup. A larger one is refused as a whole with "limit
    /// exceeded", on which clients ask for half as many.
    public var recordBytesPerLookup = 32_000_000

    /// Bytes of the stored records that one modify request names. More are refused as a whole with "limit
    /// exceeded", on which clients send half as many.
    public var recordBytesPerModify = 64_000_000

    /// Bytes of the records of one answer to a query, after which the rest is left to the next pages.
    public var queriedBytesPerAnswer = 16_000_000
    /// Records that one query examines; when they are used up, the answer has what was found and a continuation marker.
    public var recordsScannedPerQuery = 10_000
    /// Bytes of the records that one query examines, with the effect of ``recordsScannedPerQuery``.
    public var bytesScannedPerQuery = 64_000_000
    /// Records with equal first sort keys that a query sorts in memory; if there are more,
    /// it follows the index of the next sort key.
    public var recordsSortedTogether = 1_000
    /// Records added to new indexes in one transaction.
    public var recordsPerIndexStep = 200
    /// Bytes of the records added to new indexes, after which the transaction ends.
    public var bytesPerIndexStep = 4_000_000
    /// Entries of a dropped index removed in one transaction.
    public var entriesPerIndexStep = 2_000
    /// Indexes of one database, without those of names. A further one that a query asks for takes the place
    /// of the one that was asked for least recently.
    public var indexesPerDatabase = 100
    /// Compound indexes among them: each serves the queries with a filter on one field and a sort by another.
    public var compoundIndexesPerDatabase = 16
    /// Records that a page of a query with a filter and a sort by another field reads before a compound index
    /// is made for the next ones.
    public var recordsReadPerCompoundIndex = 128
    /// Requests that write a record type without a query that uses one of its compound indexes, after which
    /// that index is dropped.
    public var savesPerUnusedIndex = 10_000

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

    /// Records that a request deletes besides those that it names, by DELETE_SELF, in its own transaction.
    /// If there are more, they follow in steps. A zone with more rows is deleted in steps too.
    public var recordsPerCascade = 10_000

    /// Records that a request deletes besides those that it names, in its transaction or in steps.
    public var recordsPerLongCascade = 100_000

    /// Changes of a zone after which the states that they replaced are forgotten. Until then a
    /// conflict can carry the ancestor.
    public var ancestorChanges: Int64 = 4_000

    /// Bytes of a record's fields above which a replaced state is not kept.
    public var ancestorBytes = 16_000

    /// Bytes of the replaced states of a zone above which the oldest are forgotten. They are counted once in 256
    /// changes, and only if the last ones are larger than the average that this limit allows.
    public var ancestorBytesPerZone = 8_000_000

    /// How long tombstones are kept, in seconds: 180 days, except those beyond ``tombstonesPerDatabase``.
    public var tombstoneSeconds: Double = 180 * 24 * 3600

    /// The part of a zone's rows that must be tombstones before old ones are purged.
    public var tombstoneShare = 0.25

    /// Tombstones of a database. If there are more, the oldest are purged whatever their age, until half are left.
    public var tombstonesPerDatabase = 200_000

    /// Tombstones purged in one transaction.
    public var tombstonesPerPurge = 1_000

    /// How often a database is checked for old tombstones, in seconds: once a day, when it is saved to.
    public var purgeIntervalSeconds: Double = 24 * 3600

    /// How long a change token lasts, in seconds. Unlimited by default: tokens expire with the
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

    /// People invited to a share; with as many participants, only invited people join. Source: CKError's documentation.
    public var participantsPerShare = 100

    /// People who wait for an answer to their request for access to a share. Apple names no figure.
    public var accessRequestsPerShare = 100

    /// People who may not ask for access to a share. Apple names no figure.
    public var blockedIdentitiesPerShare = 500

    /// Records that come under a share, or leave it, in the transaction of the request that does it.
    /// If there are more, they follow in steps (``recordsPerStep``); CloudKit's users report about 5,000
    /// records a share.
    public var recordsPerShareChange = 5_000

    /// Records that one step of a long change reads or writes, in a transaction of its own.
    public var recordsPerStep = 500

    /// Subscriptions of one user in one database.
    public var subscriptionsPerUser = 1_000

    /// Filters and sort keys of one query.
    public var filtersPerQuery = 100

    /// Values in the list of one filter. CloudKit's own refusal names the figure: "Query filter exceeds
    /// the limit of values: 250 for container".
    public var valuesPerFilter = 250

    /// Bytes of one value in a filter. Text is indexed up to 512 bytes; what is longer is compared with each
    /// record that is examined.
    public var filterValueBytes = 64_000

    /// Bytes of the values of all filters of one query.
    public var filterBytesPerQuery = 256_000

    /// Bytes of one subscription with its query and texts: it is kept in memory, and its texts are in
    /// every notification.
    public var subscriptionBytes = 64_000

    /// Bytes of one notification: what Apple's push service takes. Parts of a larger one are dropped.
    public var notificationBytes = 4_096

    /// Additional fields that are sent with a notification.
    public var additionalFieldsPerNotification = 3

    /// Characters of a record's text in a notification; the rest is cut off.
    public var notificationFieldCharacters = 100

    /// How long changes are gathered after a device was notified of a zone or database, for each device and
    /// subscription, in seconds: a burst of saves makes few notifications.
    public var gatheringSeconds: Double = 0.025

    /// How long changes are gathered for a device behind Apple's push service, and at most while the service is behind
    /// with notifications, in seconds.
    public var coalescingSeconds: Double = 1

    /// Notifications kept for a device that is not listening; the oldest are dropped.
    public var notificationsPerDevice = 100

    /// After how long without a poll only one notification is kept for a device, in seconds.
    public var idleDeviceSeconds: Double = 600

    /// Long polls that may wait under one push token.
    public var pollsPerDevice = 4

    /// How long a poll waits before a further one may end it, in seconds.
    public var protectedPollSeconds: Double = 5

    /// Devices for which notifications are kept in memory.
    public var waitingDevices = 100_000

    /// Notifications that wait for Apple's push service; the oldest are dropped.
    public var waitingPushes = 10_000

    /// Notifications on their way to Apple's push service at the same time.
    public var pushesAtOnce = 32

    /// Attempts to hand one notification to Apple's push service.
    public var attemptsPerPush = 5

    /// How long Apple's push service keeps a notification for a device that is off, in seconds: a day.
    public var pushLifetimeSeconds: Double = 24 * 3600

    /// Push tokens of one user that are served with notifications; the longest unused are removed.
    public var devicesPerUser = 100

    /// Push tokens of one device; the longest unused are removed.
    public var pushTokensPerDevice = 4

    /// How long a web-auth token lasts after it was issued, in seconds: 30 minutes.
    public var webAuthTokenSeconds: Double = 30 * 60

    /// How long a web-auth token lasts when the user asked to stay signed in, in seconds: two weeks.
    public var staySignedInSeconds: Double = 14 * 24 * 3600

    /// How long the address of a sign-in page is valid, in seconds. CloudKit JS asks for a new one every 14 minutes.
    public var signInRequestSeconds: Double = 3600

    /// How long a long poll is held open without a notification, in seconds.
    public var longPollSeconds: Double = 50

    /// How long a client may take to send a request's head, in seconds.
    public var requestHeadSeconds: Double = 15

    /// How long a client may take to send its request's body, in seconds, beside the time that the body
    /// takes at ``minimumBytesPerSecond``.
    public var requestReadSeconds: Double = 30

    /// How long a client may take to read an answer, in seconds, beside the time that the answer takes at
    /// ``minimumBytesPerSecond``.
    public var answerWriteSeconds: Double = 30

    /// The slowest rate at which bodies and answers may move, in the long run: eight megabytes in eight minutes.
    public var minimumBytesPerSecond = 16_000

    /// How long a connection may stay open between two requests, in seconds.
    public var connectionIdleSeconds: Double = 75

    /// How long a push token is valid after its creation, in seconds: 12 hours, renewed at each use.
    public var pushTokenSeconds: Double = 12 * 3600

    /// How long a token of Apple's push service is used after it was registered, in seconds: 90 days.
    /// Apps register at each start.
    public var apnsTokenSeconds: Double = 90 * 24 * 3600

    // MARK: Assets

    /// Bytes of one asset.
    public var assetBytes: Int64 = 50_000_000

    /// Assets of one request for addresses, or for new receipts.
    public var assetTokensPerRequest = 200
    /// Assets of one record, list members counted one by one.
    public var assetsPerRecord = 500

    /// Uploads that one user has under way at a time.
    public var uploadsPerUser = 16

    /// How long an address for an upload is valid, in seconds: 15 minutes.
    public var uploadAddressSeconds: Double = 15 * 60

    /// How long a receipt can be saved after the upload, in seconds: a day. Less than ``unreferencedAssetSeconds``.
    public var assetReceiptSeconds: Double = 24 * 3600

    /// How long an address for a download is valid after it was answered, in seconds: an hour.
    public var downloadAddressSeconds: Double = 3600

    /// How long an asset is kept that no record holds, in seconds: two days.
    public var unreferencedAssetSeconds: Double = 48 * 3600

    /// How often the service looks for assets that no record holds, in seconds: every six hours.
    public var assetCollectionSeconds: Double = 6 * 3600

    /// Rows that one transaction removes in a search for assets that no record holds.
    public var assetsPerCollection = 200

    /// How long an upload may take in total, in seconds: an hour.
    public var assetUploadSeconds: Double = 3600

    /// How long an upload may pause, in seconds.
    public var assetIdleSeconds: Double = 30

    // MARK: How much is kept

    /// Bytes of the records of a container's public database, measured on their names and stored
    /// fields. When it is full, only deletions and changes that make records smaller are accepted.
    public var publicRecordBytes = 100_000_000
    /// Bytes of the assets of a container's public database.
    public var publicAssetBytes = 10_000_000_000
    /// Bytes of the records and assets of one user's private database in one container.
    public var privateDatabaseBytes = 5_000_000_000
    /// Bytes of the outcomes of a user's requests in a container that are kept for a week; further ones are kept for an
    /// hour. A device may use a quarter of them.
    public var outcomeBytesPerUser = 400_000_000

    // MARK: Rates of requests

    /// Requests of one user of a container in a second, as a long-time average. Larger requests count
    /// more: 400 saved records as eleven.
    public var requestsPerSecond = 40
    /// Requests that a user may send in one burst after a pause.
    public var requestsInBurst = 400
    /// Requests in a second from one network address, by all senders there, such as those of a household or an office.
    /// Requests with bad credentials count ten times.
    public var requestsPerSecondPerAddress = 200
    /// Requests that may come in one burst from one network address after a pause.
    public var requestsInBurstPerAddress = 2_000
    /// Consecutive bad requests after which a sender's rates are halved, and halved again after as
    /// many more, at most five times. Good requests and time make up for them.
    public var badRequestsBeforePenalty = 20
    /// Requests of one user that are worked on at the same time; the others wait for their turn.
    public var requestsInWorkPerUser = 8
    /// Requests of all users that are worked on at the same time.
    public var requestsInWork = 64
    /// Requests of one sender in a second, each counted by what it costs, up to which they are light: they do not wait
    /// for those of busier senders, which fewer threads work on.
    public var lightRequestsPerSecond = 100
    /// Bytes of a request's body above which it is not light, for any sender.
    public var lightRequestBytes = 256_000
    /// Requests of one sender that are light at the same time.
    public var lightRequestsAtOnce = 2
    /// Bytes received or sent that cost their sender as much as a request.
    public var bytesCountedAsRequest = 250_000
    /// Requests of one user that may wait; more are refused with "try again later".
    public var waitingRequestsPerUser = 256
    /// Requests of all users that may wait.
    public var waitingRequests = 4_096
    /// Bytes that a user may send and receive in a second, as a long-time average.
    public var transferBytesPerSecond = 2_000_000
    /// Bytes that a user may send and receive in one burst after a pause.
    public var transferBytesInBurst = 2_000_000_000
    /// Bytes that may come from and go to one network address in a second, as a long-time average.
    public var transferBytesPerSecondPerAddress = 10_000_000
    /// Bytes that may come from and go to one network address in one burst after a pause.
    public var transferBytesInBurstPerAddress = 10_000_000_000
    /// Bytes that clients without a user may send and receive in a second with one API token, as a long-time average.
    /// Requests of its users are not counted.
    public var transferBytesPerSecondPerToken = 20_000_000
    /// Bytes that clients without a user may send and receive in one burst with one API token after a pause.
    public var transferBytesInBurstPerToken = 20_000_000_000
    /// Bytes that a container's clients may send and receive in a day (UTC); 0 limits nothing.
    public var transferBytesPerDay = 0

    // MARK: How much is held in memory

    /// Bytes of requests and answers that are held in memory, all together. A sender may hold as much as
    /// it leaves free.
    public var memoryBytes = 192_000_000
    /// How long a request waits for memory before it is refused with "try again later", in seconds.
    public var memoryWaitSeconds: Double = 10

    // MARK: Who signs in

    /// Wrong passwords for an account from one network address before further attempts must wait; each minute adds one.
    public var wrongPasswords = 10
    /// Wrong passwords for an account from everywhere before further attempts must wait; each
    /// minute adds one. Addresses that signed in to the account before are not affected.
    public var wrongPasswordsPerAccount = 30
    /// Wrong passwords from one network address before further attempts must wait; every ten seconds add one.
    public var wrongPasswordsPerAddress = 60
    /// Passwords that are checked at the same time: each takes 32 MB.
    public var passwordsAtOnce = 2
    /// Passwords that may wait to be checked.
    public var waitingPasswords = 64
    /// Passwords from one network address that may wait to be checked.
    public var waitingPasswordsPerAddress = 16

    // MARK: What the storage holds

    /// Databases kept open, at most as many as there are file descriptors for: each takes three to seven,
    /// and some 400 kB of memory.
    public var openDatabases = 2_000
    /// Bytes kept free in the data folder, which deletions use when the disk is full; 0 keeps none. On a small disk it
    /// is a quarter of what is free.
    public var diskReserveBytes = 16_000_000

    // MARK: How many are connected

    /// Open connections; more wait in the system's queue until one is closed.
    public var connections = 10_000
    /// Open connections from one network address; a further one is closed immediately.
    public var connectionsPerAddress = 1_000
    /// Bytes of a request's head: its line with the address and all its headers.
    public var requestHeadBytes = 80_000
    /// Headers of one request.
    public var headersPerRequest = 100
    /// Parameters in the query of one request's address.
    public var parametersPerRequest = 100
    /// Makes the default limits.
    public init() {}
}
