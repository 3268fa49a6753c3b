/// What went wrong, in the framework's words: the names and the raw values are those of
/// `CKError.Code`, which is this type.
///
/// It stands here, below the framework, so that the service can name a code where the protocol's own
/// says too little (``ServiceError/frameworkCode``), and so that sync can decide by it.
public enum FrameworkErrorCode: Int, Sendable, CaseIterable {
    case internalError = 1
    /// Only in the completion blocks of old: see `partialErrorsByItemID`.
    case partialFailure = 2
    /// No way to the service.
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
    /// The record was changed by somebody else; has the three records.
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    /// Start again without a token.
    case changeTokenExpired = 21
    /// Nothing wrong with this item: another of its atomic zone failed.
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    /// Too many items or bytes; split in half.
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    /// The request was sent, its outcome is unknown.
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
    case participantAlreadyInvited = 37
}
