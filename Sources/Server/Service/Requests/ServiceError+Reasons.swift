import StratusRecords
import StratusWire

/// The refusals of the service, each in one place. Clients compare the sentences that CloudKit's own service is known
/// to use, so those are word for word.
extension ServiceError {
    /// A body, or a part of it, that is not valid in the protocol.
    package static func invalid(_ error: WireError) -> ServiceError {
        invalid(error.reason + (error.path.isEmpty ? "" : " (at \(error.path))"))
    }

    static func wrongDatabase(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, frameworkCode: .badDatabase)
    }

    // MARK: Who asks

    /// The same for every cause, so that it does not reveal which.
    static let authenticationFailed = ServiceError(
        .authenticationFailed, "Authentication failed")
    static let accountDisabled = ServiceError(
        .accessDenied, "The account is disabled.", frameworkCode: .managedAccountRestricted)
    static let serverInOthersDatabase = ServiceError(
        .accessDenied, "A server-to-server key can use only the public database.",
        frameworkCode: .permissionFailure)
    static let identityProviderUnreachable = ServiceError(
        .tryAgainLater, "The identity provider's keys cannot be fetched now; try again later.",
        retryAfterSeconds: 30)
    static let unknownUser = ServiceError(.notFound, "There is no user with this name.")
    static let signInNeeded = ServiceError(.authenticationRequired, "request needs authorization")
    static let longClientID = invalid("A clientId has at most 255 bytes.")
    static let createNotPermitted = notPermitted("CREATE operation not permitted")
    static let readNotPermitted = notPermitted("READ operation not permitted")
    static let writeNotPermitted = notPermitted("WRITE operation not permitted")

    private static func notPermitted(_ reason: String) -> ServiceError {
        ServiceError(.accessDenied, reason, frameworkCode: .permissionFailure)
    }

    // MARK: Whole requests

    static let tooManyOperations = overLimit(
        "The request has too many operations. Send fewer at a time.")
    static let atomicFailure = ServiceError(.atomicError, "Atomic failure")
    static let cancelled = ServiceError(
        .tryAgainLater, "The request was cancelled.", retryAfterSeconds: 1)
    static let storeUnavailable = ServiceError(
        .tryAgainLater, "The service's store is not available.", retryAfterSeconds: 5)

    static let databaseDamaged = ServiceError(
        .tryAgainLater,
        "The database's file is damaged; it is served again when its operator has repaired it.",
        retryAfterSeconds: 60, stratusCode: .databaseDamaged)
    static let diskFull = ServiceError(
        .tryAgainLater,
        "The service's disk is full: records can be read and deleted, but not saved.",
        retryAfterSeconds: 30, stratusCode: .diskFull)

    // MARK: Zones and tokens

    static let zoneNotFound = ServiceError(
        .zoneNotFound, "Zone does not exist", frameworkCode: .zoneNotFound)
    static let purgedZone = ServiceError(
        .zoneNotFound, "Zone was purged by the user", frameworkCode: .userDeletedZone)
    static let resetZone = ServiceError(
        .zoneNotFound, "Zone was deleted when the user reset encrypted data",
        frameworkCode: .zoneNotFound, userDidResetEncryptedData: true)
    static let unknownChangeToken = ServiceError(
        .badRequest, "Unknown sync continuation type",
        frameworkCode: .changeTokenExpired)
    static let expiredChangeToken = ServiceError(
        .changeTokenExpired, "client knowledge differs from server knowledge",
        frameworkCode: .changeTokenExpired)
    /// - Parameter version: the version up to which the device of the token has a correct copy.
    static func expiredChangeToken(lastIntactVersion version: Int64) -> ServiceError {
        var error = expiredChangeToken
        error.lastIntactVersion = version
        return error
    }
    static let noChangesInDefaultZone = invalid("cannot get changes in default zone")

    // MARK: Records

    static let systemType = invalid("Can't query system types")
    static let recordNotFound = ServiceError(
        .notFound, "Record not found", frameworkCode: .unknownItem)
    /// Also for a `create`: decision 21.
    static let recordExists = ServiceError(.conflict, "record to insert already exists")
    static let staleChangeTag = ServiceError(.conflict, "client oplock error updating record")
    /// In Apple's words; Apple's sentence also names the field.
    static let systemField = ServiceError(
        .accessDenied, "Unprivileged attempt to insert a system field",
        frameworkCode: .permissionFailure)
    static let badFieldName = invalid(
        "A field's name is a letter, then letters, digits and underscores.")
    /// The refusal of a field name that an app may not use.
    static func fieldName(_ name: String) -> ServiceError {
        name.hasPrefix("_") ? systemField : badFieldName
    }
    static let tooManyFields = overLimit("The record has more fields than a record may have.")
    static let lookupTooLarge = overLimit(
        "The records are too large for one answer; look up fewer at a time.")
    static let modifyTooLarge = overLimit(
        "The stored records are too large for one request; name fewer of them at a time.")
    static let publicQuotaExceeded = ServiceError(
        .quotaExceeded, "The container's public database is full; delete some of its records.",
        frameworkCode: .quotaExceeded)
    static let privateQuotaExceeded = ServiceError(
        .quotaExceeded, "The user's storage is full; delete records of the private database.",
        frameworkCode: .quotaExceeded)
    static let recordTooLarge = overLimit("The record is larger than a record may be.")
    static let referenceViolation = ServiceError(
        .validatingReferenceError, "The record that a reference or parent names does not exist.",
        frameworkCode: .referenceViolation)

    // MARK: Sharing

    static let notPermitted = ServiceError(
        .accessDenied, "WRITE operation not permitted",
        frameworkCode: .permissionFailure)
    static let shareWithoutRoot = invalid("Cannot share - no such record exists to share")
    static let alreadyShared = ServiceError(
        .badRequest, "The record is shared already.",
        frameworkCode: .alreadyShared)
    static let zoneSharedAlready = ServiceError(
        .badRequest, "The record's zone is shared as a whole.",
        frameworkCode: .serverRejectedRequest)
    static let recordsSharedAlready = invalid(
        "Records of the zone are shared; stop sharing them before the zone.")
    static let shareNotFound = ServiceError(
        .notFound, "Share not found", frameworkCode: .unknownItem)
    static let tooManyParticipants = ServiceError(
        .badRequest, "The share has as many participants as a share may have.",
        frameworkCode: .tooManyParticipants)
    static let participantAlreadyInvited = ServiceError(
        .badRequest, "A participant is named twice. Name each once.",
        frameworkCode: .participantAlreadyInvited)
    static let mayJoinAlready = ServiceError(
        .badRequest, "The user may already join the share. Open the link.",
        frameworkCode: .participantAlreadyInvited)
    static let tooManyAccessRequests = ServiceError(
        .badRequest, "The share has as many access requests as a share may have. Ask later.",
        frameworkCode: .tooManyParticipants)
    static let tooManyBlockedIdentities = ServiceError(
        .badRequest,
        "The share has as many blocked people as a share may have. Unblock some first.",
        frameworkCode: .tooManyParticipants)
    static let zoneEncryptedAsOne = ServiceError(
        .badRequest, "The zone is encrypted as a whole. Share the whole zone.",
        frameworkCode: .serverRejectedRequest)
    static let encryptionScopeStays = ServiceError(
        .badRequest, "A zone keeps the encryption scope with which it was created.",
        frameworkCode: .serverRejectedRequest)
    static let verificationNeeded = ServiceError(
        .accessDenied,
        "The invitation is for an address that is not verified as yours. Verify your address.",
        frameworkCode: .participantMayNeedVerification)
    static let departureUnderWay = ServiceError(
        .zoneBusy, "Many records are being moved out of a share of the zone; try again.",
        retryAfterSeconds: 2, frameworkCode: .zoneBusy)
    static let formerShareEnding = ServiceError(
        .zoneBusy, "The end of the record's former share is still being carried out; try again.",
        retryAfterSeconds: 2, frameworkCode: .zoneBusy)
    static let formerZoneRemoval = ServiceError(
        .zoneBusy,
        "The records of the former zone of this name are still being removed; try again.",
        retryAfterSeconds: 2, frameworkCode: .zoneBusy)
    static let deletionUnderWay = ServiceError(
        .zoneBusy, "The record, or one that depends on it, is still being deleted; try again.",
        retryAfterSeconds: 2, frameworkCode: .zoneBusy)
    static let removalUnderWay = ServiceError(
        .tryAgainLater,
        "The account is being deleted; the next start of the service continues with what is left.")
    static let stillReferred = ServiceError(
        .validatingReferenceError,
        "Other records need this one, or one that would be deleted with it; delete or change them.",
        frameworkCode: .referenceViolation)
    static let tooManySources = overLimit(
        "The record that a DELETE_SELF reference names has as many such references as it may have.")
    static let tooManyReferences = overLimit(
        "The record has more references with an action than a record may have.")
    static let tooManyDependents = overLimit(
        "The request's operations depend on each other in too many ways; send fewer at a time.")
    static let cascadeTooLarge = overLimit(
        "More records would be deleted with this one than one request may; delete some first.")

    // MARK: Assets

    static let unknownReceipt = ServiceError(
        .badRequest, "The asset's receipt is not valid here; upload the asset again.",
        frameworkCode: .assetNotAvailable)
    static let missingReceipt = ServiceError(
        .badRequest, "The asset has no receipt; upload it, or ask for one with assets/rereference.",
        frameworkCode: .assetNotAvailable)
    static let collectedAsset = ServiceError(
        .badRequest, "The asset was not saved in time; upload it again.",
        frameworkCode: .assetNotAvailable)
    static let tooManyAssets = overLimit("The record has more assets than a record may have.")
    static let tooManyUploads = ServiceError(
        .throttled, "Too many uploads are running; start another one when one has finished.",
        retryAfterSeconds: 1,
        frameworkCode: .requestRateLimited)
    static let assetTooLarge = overLimit("The asset is larger than an asset may be.")
    static let unknownUploadAddress = ServiceError(
        .notFound, "The address for the upload is unknown or has expired; ask for a new one.",
        frameworkCode: .unknownItem)
    static let unknownDownloadAddress = ServiceError(
        .notFound, "The asset's address is unknown or has expired; fetch the record again.",
        frameworkCode: .unknownItem)
    static let assetNotFound = ServiceError(
        .notFound, "The record has no asset in this field.", frameworkCode: .unknownItem)

    // MARK: The schema

    static func unknownRecordType(_ name: String) -> ServiceError {
        invalid("Cannot create new type \(name) in production schema")
    }

    static func unknownField(_ name: String, of recordType: String) -> ServiceError {
        invalid(
            "Cannot create or modify field '\(name)' in record '\(recordType)' in production schema"
        )
    }

    static let recordTypeIsFull = overLimit(
        "The record type has as many fields as a record type may have.")
    static let tooManyRecordTypes = overLimit(
        "The container has as many record types as a container may have.")

    // MARK: Subscriptions and devices

    static let subscriptionNotFound = ServiceError(
        .notFound, "Subscription not found", frameworkCode: .unknownItem)
    static let duplicateSubscription = ServiceError(
        .internalError, "could not find subscription we just created")
    static let tooManyPolls = ServiceError(
        .throttled, "Too many long polls wait under the push token. Wait with one at a time.",
        retryAfterSeconds: 5,
        frameworkCode: .requestRateLimited)
    static let unknownPushEnvironment = invalid(
        "The apnsEnvironment is development or production.")
    static let unknownPushToken = ServiceError(
        .notFound, "The push token is unknown or has expired; create a new one.",
        frameworkCode: .unknownItem)
}
