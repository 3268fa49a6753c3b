/// The error codes of the framework, with the names and raw values of `CKError.Code`, which is this type.
///
/// It is declared here, below the framework, so that the service can name a code where the protocol's own is not
/// specific enough (``ServiceError/frameworkCode``), and so that sync can decide by it.
public enum FrameworkErrorCode: Int, Sendable, CaseIterable {
    case internalError = 1
    /// Only in the older completion blocks: see `partialErrorsByItemID`.
    case partialFailure = 2
    /// There is no network connection to the service.
    case networkUnavailable = 3
    /// The service could not be reached, or did not answer in time.
    case networkFailure = 4
    case badContainer = 5
    /// Has `retryAfterSeconds`.
    case serviceUnavailable = 6
    /// Has `retryAfterSeconds`.
    case requestRateLimited = 7
    case missingEntitlement = 8
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    case resultsTruncated = 13
    /// Another client changed the record; the error has the three records.
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    /// Start again without a token.
    case changeTokenExpired = 21
    /// Nothing is wrong with this item: another one of its atomic zone failed.
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    /// Too many items or bytes; send half as many.
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    /// The request was sent, but its result is unknown.
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
    case participantAlreadyInvited = 37
}
