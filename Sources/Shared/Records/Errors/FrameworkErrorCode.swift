/// The error codes of the framework, with the names and raw values of `CKError.Code`, which is this type.
///
/// It is declared here, below the framework, so that the service can name a code where the protocol's own is not
/// specific enough (``ServiceError/frameworkCode``), and so that sync can decide by it.
public enum FrameworkErrorCode: Int, Sendable, CaseIterable {
    /// A fault of the framework, or an answer that lacks what was requested.
    case internalError = 1
    /// Some items failed: see `partialErrorsByItemID`. Only older completion blocks get it, and callers of
    /// `CKSyncEngine`.
    case partialFailure = 2
    /// There is no network connection to the service.
    case networkUnavailable = 3
    /// The service could not be reached, or did not answer in time.
    case networkFailure = 4
    /// The container is unknown or not open to the app; in Stratus, no service is configured for it.
    case badContainer = 5
    /// The service cannot take the request now. Has `retryAfterSeconds`.
    case serviceUnavailable = 6
    /// The client sends too many requests. Has `retryAfterSeconds`.
    case requestRateLimited = 7
    /// The app lacks an entitlement. Only Apple's platforms raise it.
    case missingEntitlement = 8
    /// No user is signed in, or the service does not accept the sign-in.
    case notAuthenticated = 9
    /// The user may not do this with this record, zone or database.
    case permissionFailure = 10
    /// The record, share or subscription does not exist.
    case unknownItem = 11
    /// The request, or an item of it, is malformed or contradicts the schema.
    case invalidArguments = 12
    /// Deprecated by Apple, and never raised by Stratus.
    case resultsTruncated = 13
    /// Another client changed the record; the error has the three records.
    case serverRecordChanged = 14
    /// The service permanently refused the request, or failed on it.
    case serverRejectedRequest = 15
    /// There is no file at the asset's URL.
    case assetFileNotFound = 16
    /// The asset's file changed while it was being saved.
    case assetFileModified = 17
    /// The app is too old: its version is below the minimum, or a newer one wrote the record.
    case incompatibleVersion = 18
    /// A rule about the stored data, such as a unique field, forbids the change.
    case constraintViolation = 19
    /// The operation was cancelled before it ended.
    case operationCancelled = 20
    /// The change token is no longer valid: fetch again without one.
    case changeTokenExpired = 21
    /// Nothing is wrong with this item: another one of its atomic zone failed.
    case batchRequestFailed = 22
    /// The zone cannot take the request now. May have `retryAfterSeconds`.
    case zoneBusy = 23
    /// The database does not support this: for example, zones can be created in the private one only.
    case badDatabase = 24
    /// The storage is full: the app's in the public database, otherwise that of the zone's owner.
    case quotaExceeded = 25
    /// The zone does not exist, or no longer exists.
    case zoneNotFound = 26
    /// Too many items or bytes; send half as many.
    case limitExceeded = 27
    /// The user removed the app's data of this zone. Do not create it again without asking them.
    case userDeletedZone = 28
    /// The share has as many participants, access requests or blocked people as it may have.
    case tooManyParticipants = 29
    /// The record is already in a share; a record belongs to at most one.
    case alreadyShared = 30
    /// A parent or the target of a reference is missing, or other records need the one to delete.
    case referenceViolation = 31
    /// The account's administrator does not allow its use, or has disabled it.
    case managedAccountRestricted = 32
    /// The invitation is for an address that the user must verify first.
    case participantMayNeedVerification = 33
    /// The request was sent, but its result is unknown.
    case serverResponseLost = 34
    /// The asset's file cannot be read or stored, its upload is no longer valid, or no record holds it.
    case assetNotAvailable = 35
    /// There is an account, but it is not ready: for example, its encryption key is not on this device.
    case accountTemporarilyUnavailable = 36
    /// A participant is named twice, or the user may already join the share.
    case participantAlreadyInvited = 37
}
