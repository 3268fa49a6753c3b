extension NamedLimit {
    private static let metrics = "Property Metrics"
    private static let plan = "CloudKit's published free plan"

    /// Every limit; a test checks that no property of ``Limits`` is missing.
    public static let all: [NamedLimit] =
        requests + sizes + schema + history + assets + notifications + quotas + rates + memory
        + signIns + storage + connections + times

    private static let requests: [NamedLimit] = [
        .init(
            "operationsPerRequest", \.operationsPerRequest, .count,
            "operations of a modify request, items of a lookup",
            source: "CKError.limitExceeded (\(metrics): 200)"),
        .init(
            "recordsPerPage", \.recordsPerPage, .count,
            "records of a page when the request asks for no number", source: metrics),
        .init(
            "maximumRecordsPerPage", \.maximumRecordsPerPage, .count,
            "records of a page, even if the request asks for more"),
        .init(
            "changedBytesPerAnswer", \.changedBytesPerAnswer, .bytes,
            "records of an answer with changes; the rest comes with the next pages"),
        .init(
            "recordBytesPerLookup", \.recordBytesPerLookup, .bytes,
            "records of a lookup's answer; a larger one is refused"),
        .init(
            "recordBytesPerModify", \.recordBytesPerModify, .bytes,
            "stored records that a modify request names; more are refused"),
        .init(
            "queriedBytesPerAnswer", \.queriedBytesPerAnswer, .bytes,
            "records of a query's answer; the rest comes with the next pages"),
        .init(
            "recordsScannedPerQuery", \.recordsScannedPerQuery, .count,
            """
            records that a query looks at; then it returns what it has found, with a \
            continuation marker
            """),
        .init(
            "bytesScannedPerQuery", \.bytesScannedPerQuery, .bytes,
            "bytes of records that a query looks at; then it returns what it has found"),
        .init(
            "recordsSortedTogether", \.recordsSortedTogether, .count,
            "records with equal first sort keys that are put in order in memory"),
        .init(
            "recordsPerIndexStep", \.recordsPerIndexStep, .count,
            "records added to new indexes in a transaction"),
        .init(
            "bytesPerIndexStep", \.bytesPerIndexStep, .bytes,
            "records added to new indexes in a transaction"),
        .init(
            "entriesPerIndexStep", \.entriesPerIndexStep, .count,
            "entries of a given-up index removed in a transaction"),
        .init(
            "indexesPerDatabase", \.indexesPerDatabase, .count,
            "indexes that queries asked for in a database"),
        .init(
            "compoundIndexesPerDatabase", \.compoundIndexesPerDatabase, .count,
            "compound indexes of a database: a filter's field with a sort's field"),
        .init(
            "recordsReadPerCompoundIndex", \.recordsReadPerCompoundIndex, .count,
            "records read for a page before a compound index is made"),
        .init(
            "savesPerUnusedIndex", \.savesPerUnusedIndex, .count,
            "saving requests after which a compound index that no query used is given up"),
        .init(
            "filtersPerQuery", \.filtersPerQuery, .count, "filters and sort keys of a query"),
        .init(
            "valuesPerFilter", \.valuesPerFilter, .count, "values in the list of a filter",
            source: "the live service's refusal"),
        .init("filterValueBytes", \.filterValueBytes, .bytes, "a value in a filter"),
        .init(
            "filterBytesPerQuery", \.filterBytesPerQuery, .bytes,
            "the values of all filters of a query"),
    ]

    private static let sizes: [NamedLimit] = [
        .init(
            "recordBytes", \.recordBytes, .bytes, "a record without its assets", source: metrics),
        .init(
            "fieldsPerRecord", \.fieldsPerRecord, .count, "fields of a record", source: "TN3164",
            maximum: Limits.readableFieldsPerRecord),
        .init("requestBodyBytes", \.requestBodyBytes, .bytes, "a request's body"),
        .init(
            "zonesPerDatabase", \.zonesPerDatabase, .count, "zones of a database",
            source: "TN3164"),
        .init(
            "participantsPerShare", \.participantsPerShare, .count,
            "people invited to a share", source: "CKError.tooManyParticipants"),
        .init(
            "accessRequestsPerShare", \.accessRequestsPerShare, .count,
            "people who wait for access to a share"),
        .init(
            "blockedIdentitiesPerShare", \.blockedIdentitiesPerShare, .count,
            "people who may not ask for access to a share"),
        .init(
            "recordsPerShareChange", \.recordsPerShareChange, .count,
            "records that come under a share, or out of it, in one transaction; more follow in steps"
        ),
        .init(
            "recordsPerStep", \.recordsPerStep, .count, "records of one step of a long change"),
        .init(
            "subscriptionsPerUser", \.subscriptionsPerUser, .count,
            "subscriptions of a user in a database"),
        .init("subscriptionBytes", \.subscriptionBytes, .bytes, "a subscription"),
        .init(
            "notificationsPerDevice", \.notificationsPerDevice, .count,
            "notifications kept for a device that does not listen"),
        .init(
            "devicesPerUser", \.devicesPerUser, .count, "devices of a user that are notified"),
    ]

    private static let schema: [NamedLimit] = [
        .init(
            "fieldsPerRecordType", \.fieldsPerRecordType, .count, "fields of a record type",
            source: "TN3164"),
        .init(
            "recordTypesPerContainer", \.recordTypesPerContainer, .count,
            "record types of a container"),
        .init("rolesPerContainer", \.rolesPerContainer, .count, "roles of a container"),
        .init("schemaTextBytes", \.schemaTextBytes, .bytes, "a schema in the text language"),
    ]

    private static let history: [NamedLimit] = [
        .init(
            "referencesPerRecord", \.referencesPerRecord, .count,
            "references of a record that delete or validate"),
        .init(
            "sourcesPerTarget", \.sourcesPerTarget, .count,
            "records that refer to one with DELETE_SELF", source: metrics),
        .init(
            "recordsPerCascade", \.recordsPerCascade, .count,
            "records that a request deletes by DELETE_SELF in one transaction; more follow in steps"
        ),
        .init(
            "recordsPerLongCascade", \.recordsPerLongCascade, .count,
            "records that a request deletes by DELETE_SELF, in one transaction or in steps"),
        .init(
            "ancestorChanges", long: \.ancestorChanges,
            "changes of a zone after which replaced states are forgotten"),
        .init(
            "ancestorBytes", \.ancestorBytes, .bytes, "a replaced state that is kept", minimum: 0),
        .init("ancestorBytesPerZone", \.ancestorBytesPerZone, .bytes, "a zone's replaced states"),
        .init(
            "tombstoneSeconds", seconds: \.tombstoneSeconds, "how long tombstones are kept"),
        .init(
            "tombstoneShare", share: \.tombstoneShare,
            "the part of a zone that tombstones must be to be purged"),
        .init(
            "tombstonesPerDatabase", \.tombstonesPerDatabase, .count, "tombstones of a database"),
        .init(
            "tombstonesPerPurge", \.tombstonesPerPurge, .count, "tombstones purged at once"),
        .init(
            "purgeIntervalSeconds", seconds: \.purgeIntervalSeconds,
            "how often old tombstones are looked for"),
        .init(
            "changeTokenSeconds", seconds: \.changeTokenSeconds, "how long a change token lasts",
            maximum: .infinity),
    ]

    private static let assets: [NamedLimit] = [
        .init(
            "assetBytes", long: \.assetBytes, "an asset", unit: .bytes, source: metrics),
        .init(
            "assetTokensPerRequest", \.assetTokensPerRequest, .count,
            "assets of a request for addresses or receipts", source: metrics),
        .init("assetsPerRecord", \.assetsPerRecord, .count, "assets of a record"),
        .init("uploadsPerUser", \.uploadsPerUser, .count, "uploads that a user has under way"),
        .init(
            "uploadAddressSeconds", seconds: \.uploadAddressSeconds,
            "how long an address for an upload is valid", source: "Uploading Assets"),
        .init(
            "assetReceiptSeconds", seconds: \.assetReceiptSeconds, "how long a receipt can be saved"
        ),
        .init(
            "downloadAddressSeconds", seconds: \.downloadAddressSeconds,
            "how long an address for a download is valid"),
        .init(
            "unreferencedAssetSeconds", seconds: \.unreferencedAssetSeconds,
            "how long an asset is kept that no record holds"),
        .init(
            "assetCollectionSeconds", seconds: \.assetCollectionSeconds,
            "how often unused assets are looked for"),
        .init(
            "assetsPerCollection", \.assetsPerCollection, .count,
            "assets removed in one transaction of a collection"),
        .init("assetUploadSeconds", seconds: \.assetUploadSeconds, "how long an upload may take"),
        .init(
            "assetIdleSeconds", seconds: \.assetIdleSeconds,
            "how long an upload may receive nothing"),
    ]

    private static let notifications: [NamedLimit] = [
        .init(
            "notificationBytes", \.notificationBytes, .bytes,
            "a notification; parts of a larger one are left out", source: "Apple's push service"),
        .init(
            "additionalFieldsPerNotification", \.additionalFieldsPerNotification, .count,
            "additional fields of a notification", source: "CKQueryNotification"),
        .init(
            "notificationFieldCharacters", \.notificationFieldCharacters, .count,
            "characters of a record's text in a notification"),
        .init(
            "gatheringSeconds", seconds: \.gatheringSeconds,
            "how long changes are gathered after a device was notified of a subscription"),
        .init(
            "coalescingSeconds", seconds: \.coalescingSeconds,
            "how long changes wait for Apple's push service, at most while it has a backlog"),
        .init(
            "idleDeviceSeconds", seconds: \.idleDeviceSeconds,
            "after how long without a poll a device keeps one notification only"),
        .init(
            "pollsPerDevice", \.pollsPerDevice, .count, "long polls that wait under a push token"),
        .init(
            "protectedPollSeconds", seconds: \.protectedPollSeconds,
            "how long a poll waits before a further one may end it"),
        .init(
            "waitingDevices", \.waitingDevices, .count, "devices for which notifications are kept"),
        .init(
            "waitingPushes", \.waitingPushes, .count,
            "notifications that wait for Apple's push service"),
        .init(
            "pushesAtOnce", \.pushesAtOnce, .count,
            "notifications on their way to Apple's push service"),
        .init("attemptsPerPush", \.attemptsPerPush, .count, "attempts to hand over a notification"),
        .init(
            "pushLifetimeSeconds", seconds: \.pushLifetimeSeconds,
            "how long Apple's push service keeps a notification"),
        .init("pushTokensPerDevice", \.pushTokensPerDevice, .count, "push tokens of a device"),
        .init(
            "apnsTokenSeconds", seconds: \.apnsTokenSeconds,
            "how long a token of Apple's push service is used"),
    ]

    private static let quotas: [NamedLimit] = [
        .init(
            "publicRecordBytes", \.publicRecordBytes, .bytes,
            "the records of a container's public database", source: plan, minimum: 0),
        .init(
            "publicAssetBytes", \.publicAssetBytes, .bytes,
            "the assets of a container's public database", source: plan, minimum: 0),
        .init(
            "privateDatabaseBytes", \.privateDatabaseBytes, .bytes,
            "the records and assets of a user's private database", source: "iCloud's free storage",
            minimum: 0),
        .init(
            "outcomeBytesPerUser", \.outcomeBytesPerUser, .bytes,
            "the outcomes of a user's requests in a container that are kept for a week"),
        .init(
            "transferBytesPerSecond", \.transferBytesPerSecond, .bytes,
            "what a user sends and receives in a second, on average"),
        .init(
            "transferBytesInBurst", \.transferBytesInBurst, .bytes,
            "what a user may send and receive in one burst after a pause", source: plan),
        .init(
            "transferBytesPerSecondPerAddress", \.transferBytesPerSecondPerAddress, .bytes,
            "what a network address sends and receives in a second, on average"),
        .init(
            "transferBytesInBurstPerAddress", \.transferBytesInBurstPerAddress, .bytes,
            "what a network address may send and receive in one burst after a pause"),
        .init(
            "transferBytesPerSecondPerToken", \.transferBytesPerSecondPerToken, .bytes,
            "what moves with an API token without a user in a second, on average"),
        .init(
            "transferBytesInBurstPerToken", \.transferBytesInBurstPerToken, .bytes,
            "what may move with an API token without a user in one burst after a pause"),
        .init(
            "transferBytesPerDay", \.transferBytesPerDay, .bytes,
            "what a container's clients send and receive in a day (UTC); 0 is no limit",
            minimum: 0),
    ]

    private static let memory: [NamedLimit] = [
        .init(
            "memoryBytes", \.memoryBytes, .bytes,
            "requests and answers that are held in memory, all together"),
        .init(
            "memoryWaitSeconds", seconds: \.memoryWaitSeconds,
            "how long a request waits for memory"),
        .init(
            "minimumBytesPerSecond", \.minimumBytesPerSecond, .bytes,
            "the slowest rate at which bodies and answers may move, in the long run"),
    ]

    private static let signIns: [NamedLimit] = [
        .init(
            "wrongPasswords", \.wrongPasswords, .count,
            "wrong passwords for an account from one address before further attempts must wait"),
        .init(
            "wrongPasswordsPerAccount", \.wrongPasswordsPerAccount, .count,
            "wrong passwords for an account from everywhere before further attempts must wait"),
        .init(
            "wrongPasswordsPerAddress", \.wrongPasswordsPerAddress, .count,
            "wrong passwords from a network address before further attempts must wait"),
        .init(
            "passwordsAtOnce", \.passwordsAtOnce, .count,
            "passwords that are checked at the same time, with 32 MB each"),
        .init(
            "waitingPasswords", \.waitingPasswords, .count,
            "passwords that may wait to be checked"),
        .init(
            "waitingPasswordsPerAddress", \.waitingPasswordsPerAddress, .count,
            "passwords from a network address that may wait to be checked"),
    ]

    private static let rates: [NamedLimit] = [
        .init(
            "requestsPerSecond", \.requestsPerSecond, .count,
            "requests of a user of a container in a second, on average", source: plan),
        .init(
            "requestsInBurst", \.requestsInBurst, .count,
            "requests that a user may send in one burst after a pause"),
        .init(
            "requestsPerSecondPerAddress", \.requestsPerSecondPerAddress, .count,
            "requests from a network address in a second, on average"),
        .init(
            "requestsInBurstPerAddress", \.requestsInBurstPerAddress, .count,
            "requests that may come from an address in one burst after a pause"),
        .init(
            "badRequestsBeforePenalty", \.badRequestsBeforePenalty, .count,
            "consecutive bad requests after which a sender's rates are halved"),
        .init(
            "requestsInWorkPerUser", \.requestsInWorkPerUser, .count,
            "requests of a user that are worked on at the same time"),
        .init(
            "requestsInWork", \.requestsInWork, .count,
            "requests of all users that are worked on at the same time"),
        .init(
            "lightRequestsPerSecond", \.lightRequestsPerSecond, .count,
            "requests of a sender per second that do not wait behind heavier senders"),
        .init(
            "lightRequestBytes", \.lightRequestBytes, .bytes, "a request's body that is light"),
        .init(
            "lightRequestsAtOnce", \.lightRequestsAtOnce, .count,
            "requests of a sender that are light at the same time"),
        .init(
            "bytesCountedAsRequest", \.bytesCountedAsRequest, .bytes,
            "bytes received or sent that cost as much as one request"),
        .init(
            "waitingRequestsPerUser", \.waitingRequestsPerUser, .count,
            "requests of a user that may wait", minimum: 0),
        .init(
            "waitingRequests", \.waitingRequests, .count, "requests of all users that may wait",
            minimum: 0),
    ]

    private static let storage: [NamedLimit] = [
        .init(
            "openDatabases", \.openDatabases, .count,
            "databases kept open, as far as there are file descriptors"),
        .init(
            "diskReserveBytes", \.diskReserveBytes, .bytes,
            "room that is kept for a full disk; 0 is none", minimum: 0),
    ]

    private static let connections: [NamedLimit] = [
        .init("connections", \.connections, .count, "open connections"),
        .init(
            "connectionsPerAddress", \.connectionsPerAddress, .count,
            "open connections from a network address"),
        .init("requestHeadBytes", \.requestHeadBytes, .bytes, "a request's line and headers"),
        .init("headersPerRequest", \.headersPerRequest, .count, "headers of a request"),
        .init(
            "parametersPerRequest", \.parametersPerRequest, .count,
            "parameters in a request's address"),
    ]

    private static let times: [NamedLimit] = [
        .init(
            "webAuthTokenSeconds", seconds: \.webAuthTokenSeconds,
            "how long a web-auth token is valid", source: "Setting Up Web Services"),
        .init(
            "staySignedInSeconds", seconds: \.staySignedInSeconds,
            "how long a web-auth token is valid for a user who stays signed in",
            source: "Setting Up Web Services"
        ),
        .init(
            "signInRequestSeconds", seconds: \.signInRequestSeconds,
            "how long the address of a sign-in page is valid"),
        .init(
            "longPollSeconds", seconds: \.longPollSeconds,
            "how long a poll waits for a notification"),
        .init(
            "requestHeadSeconds", seconds: \.requestHeadSeconds,
            "how long a request's head may take to arrive"),
        .init(
            "requestReadSeconds", seconds: \.requestReadSeconds,
            "how long a request's body may take to arrive, in addition to the time for its bytes"),
        .init(
            "answerWriteSeconds", seconds: \.answerWriteSeconds,
            "how long an answer may take to be read, in addition to the time for its bytes"),
        .init(
            "connectionIdleSeconds", seconds: \.connectionIdleSeconds,
            "how long a connection may be silent"),
        .init(
            "pushTokenSeconds", seconds: \.pushTokenSeconds,
            "how long a push token is valid after its last use",
            source: "the live service's address of the long poll"),
    ]
}
