import StratusRecords

extension CKError {
    /// The code of an error. The raw values are Apple's.
    public typealias Code = FrameworkErrorCode

    /// The framework or the service failed, such as with an answer about an item other than the requested one.
    public static var internalError: Code { .internalError }
    /// Single items failed: see `partialErrorsByItemID`. Only older completion blocks get it.
    public static var partialFailure: Code { .partialFailure }
    /// There is no route to the service, or its host name is unknown.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// The service refused the connection, could not prove its identity, or did not answer in time.
    public static var networkFailure: Code { .networkFailure }
    /// No service is configured, or a setting is not valid; the message says which one.
    public static var badContainer: Code { .badContainer }
    /// The service cannot answer now; `retryAfterSeconds` says when to try again, if it is known.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// Too many requests in a short time; `retryAfterSeconds` says when to try again, if it is known.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// The app lacks an entitlement. Stratus has no entitlements, and never raises it.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// There is no account, the service refuses it, or it changed while the request ran.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// The user may not do this, or the device's key store cannot be used; not resolved by a retry.
    public static var permissionFailure: Code { .permissionFailure }
    /// The record, subscription or share does not exist; also for an update of a deleted record.
    public static var unknownItem: Code { .unknownItem }
    /// The request or one of its items is not valid, such as a predicate that the service cannot answer.
    public static var invalidArguments: Code { .invalidArguments }
    /// Deprecated by Apple, and never raised.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// Another client has changed the record; the error has the server's version, to merge with.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// The service refused the request, or failed, for a reason without a code of its own.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// The file of an asset to be saved cannot be found.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// The file of an asset changed while it was saved.
    public static var assetFileModified: Code { .assetFileModified }
    /// A newer version of the app wrote the record. Raised by the cache, for deletions set aside.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// The change violates a constraint, such as a value that must be unique (`UNIQUE_FIELD_ERROR`).
    public static var constraintViolation: Code { .constraintViolation }
    /// The operation or its task was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The change token is no longer valid: fetch again without a token.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// Nothing is wrong with this item: another item of its atomic zone failed.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// The zone or the service is busy; try again after `retryAfterSeconds`.
    public static var zoneBusy: Code { .zoneBusy }
    /// The database does not support this, such as custom zones in the public one.
    public static var badDatabase: Code { .badDatabase }
    /// The storage of the user, of the share's owner or of the public database is full.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// The zone does not exist: it was never created, or was deleted.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// The request has too many items or bytes: send half as many.
    public static var limitExceeded: Code { .limitExceeded }
    /// The user removed the app's data in this zone: do not upload it again without asking.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// The share has as many participants, access requests or blocked people as are allowed.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// The record is already shared, by itself or with a record above it.
    public static var alreadyShared: Code { .alreadyShared }
    /// The target of a reference or the parent is missing, or other records need the one to be deleted.
    public static var referenceViolation: Code { .referenceViolation }
    /// The service's operator has disabled the account.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// The invitation is for an address that the user has not verified.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// The connection was lost after the request was sent: whether it was carried out is unknown.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// The asset's file cannot be read, or the service does not have its bytes.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// The account's key for encrypted values is not on this device: import the recovery key.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// A share names a participant twice, or a person who may already join requests access.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}

extension FrameworkErrorCode {
    /// Lets `catch CKError.zoneNotFound` match any error of that code.
    public static func ~= (code: FrameworkErrorCode, error: any Error) -> Bool {
        (error as? CKError)?.code == code
    }
}
