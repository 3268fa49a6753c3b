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
        .accessDenied, "The account is disabled. Ask the operator of the service.",
        frameworkCode: .managedAccountRestricted)
    static let serverInOthersDatabase = ServiceError(
        .accessDenied, "A server-to-server key can use only the public database.",
        frameworkCode: .permissionFailure)
    static let identityProviderUnreachable = ServiceError(
        .tryAgainLater, "The identity provider's keys cannot be fetched now; try again later.",
        retryAfterSeconds: 30)
    static func unknownUser(_ name: String) -> ServiceError {
        ServiceError(.notFound, "There is no user \(name); `stratus user list` prints all.")
    }
    static let signInNeeded = ServiceError(.authenticationRequired, "request needs authorization")
    static let longClientID = invalid("The clientId has more than 255 bytes; send a shorter one.")
    static let createNotPermitted = notPermitted("CREATE operation not permitted")
    static let readNotPermitted = notPermitted("READ operation not permitted")
    static let writeNotPermitted = notPermitted("WRITE operation not permitted")

    private static func notPermitted(_ reason: String) -> ServiceError {
        ServiceError(.accessDenied, reason, frameworkCode: .permissionFailure)
    }

    // MARK: Whole requests

    static func tooManyItems(_ count: Int, limit: Int) -> ServiceError {
        overLimit(
            "The request has \(count) operations or items, and at most \(limit) are allowed; send fewer."
        )
    }
    static let atomicFailure = ServiceError(.atomicError, "Atomic failure")
    static let cancelled = ServiceError(
        .tryAgainLater, "The request was cancelled before it was done; send it again.",
        retryAfterSeconds: 1)
    static let storeUnavailable = ServiceError(
        .tryAgainLater, "The service's storage is not available; send the request again later.",
        retryAfterSeconds: 5)

    static let databaseDamaged = ServiceError(
        .tryAgainLater,
        "The database's file is damaged; it is served again when its operator has repaired it.",
        retryAfterSeconds: 60, stratusCode: .databaseDamaged)
    static let diskFull = ServiceError(
        .tryAgainLater,
        "The service's disk is full: records can be read and deleted; save again when it has room.",
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
    /// The refusal of a field name that an app may not use.
    static func fieldName(_ name: String) -> ServiceError {
        if name.hasPrefix("_") { return systemField }
        return invalid(
            """
            The field name '\(name.prefix(255))' is not valid; a name is a letter, then letters, digits \
            and underscores, 255 at most.
            """)
    }
    static let badRecordName = invalid(
        """
        The record's name is not valid; a name has 1 to 255 ASCII characters and no leading \
        underscore.
        """)
    static func recordTypeName(_ name: String) -> ServiceError {
        invalid(
            """
            The record type '\(name.prefix(255))' is not valid; a type is a letter, then letters, digits \
            and underscores, 255 at most.
            """)
    }
    static func tooManyFields(limit: Int) -> ServiceError {
        overLimit("The record has more than \(limit) fields; divide it into several records.")
    }
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
    static let tooManyUnclaimedUploads = ServiceError(
        .quotaExceeded,
        """
        The user's uploads that no record has yet take as much of the database's quota as is left free; \
        save the records with them, then upload more.
        """, frameworkCode: .quotaExceeded)
    static func recordTooLarge(limitBytes: Int) -> ServiceError {
        overLimit("The record is larger than \(limitBytes) bytes; save large values as assets.")
    }
    static let referenceViolation = ServiceError(
        .validatingReferenceError,
        "The record that a reference or parent names does not exist; save it first or with this one.",
        frameworkCode: .referenceViolation)

    // MARK: Sharing

    static let notPermitted = ServiceError(
        .accessDenied, "WRITE operation not permitted",
        frameworkCode: .permissionFailure)
    static let shareWithoutRoot = invalid("Cannot share - no such record exists to share")
    static let alreadyShared = ServiceError(
        .badRequest,
        "The record, or one above or below it, is shared already; use or delete that share.",
        frameworkCode: .alreadyShared)
    static let zoneSharedAlready = ServiceError(
        .badRequest, "The record's zone is shared as a whole; use the zone's share.",
        frameworkCode: .serverRejectedRequest)
    static let recordsSharedAlready = invalid(
        "Records of the zone are shared; stop sharing them before the zone.")
    static let shareNotFound = ServiceError(
        .notFound, "Share not found", frameworkCode: .unknownItem)
    static func tooManyParticipants(limit: Int) -> ServiceError {
        ServiceError(
            .badRequest, "At most \(limit) people can be invited to a share; remove some first.",
            frameworkCode: .tooManyParticipants)
    }
    static func shareFull(limit: Int) -> ServiceError {
        ServiceError(
            .badRequest,
            """
            The share has \(limit) participants, the most with whom its link lets others join; ask its \
            owner to invite you.
            """,
            frameworkCode: .tooManyParticipants)
    }
    static let participantAlreadyInvited = ServiceError(
        .badRequest, "A participant is named twice. Name each once.",
        frameworkCode: .participantAlreadyInvited)
    static let mayJoinAlready = ServiceError(
        .badRequest, "The user may already join the share. Open the link.",
        frameworkCode: .participantAlreadyInvited)
    static func tooManyAccessRequests(limit: Int) -> ServiceError {
        ServiceError(
            .badRequest,
            "\(limit) people wait for access to the share, the most allowed; ask later.",
            frameworkCode: .tooManyParticipants)
    }
    static func tooManyBlockedIdentities(limit: Int) -> ServiceError {
        ServiceError(
            .badRequest, "A share has at most \(limit) blocked people; unblock some first.",
            frameworkCode: .tooManyParticipants)
    }
    static let zoneEncryptedAsOne = ServiceError(
        .badRequest, "The zone is encrypted as a whole. Share the whole zone.",
        frameworkCode: .serverRejectedRequest)
    static let encryptionScopeStays = ServiceError(
        .badRequest,
        "The zone was created with another encryption scope, which it keeps; create another zone.",
        frameworkCode: .serverRejectedRequest)
    static let verificationNeeded = ServiceError(
        .accessDenied,
        "The invitation is for an address that is not verified as yours; have it verified first.",
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
    static func tooManySources(limit: Int) -> ServiceError {
        overLimit(
            """
            More than \(limit) records would refer to one record with DELETE_SELF; refer to it without \
            an action, or to several records.
            """)
    }
    static func tooManyReferences(limit: Int) -> ServiceError {
        overLimit(
            """
            The record has more than \(limit) references that validate or delete; refer to some without \
            an action.
            """)
    }
    static let tooManyDependents = overLimit(
        "The request's operations depend on each other in too many ways; send fewer at a time.")
    static let cascadeTooLarge = overLimit(
        "More records depend on this one than one request may delete; delete some of them first.")

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
    static func tooManyAssets(limit: Int) -> ServiceError {
        overLimit("The record has more than \(limit) assets; divide it into several records.")
    }
    static func tooManyUploads(limit: Int) -> ServiceError {
        ServiceError(
            .throttled,
            "The user has \(limit) uploads under way, the most allowed; finish one of them first.",
            retryAfterSeconds: 1, frameworkCode: .requestRateLimited)
    }
    static func assetTooLarge(limitBytes: Int64) -> ServiceError {
        overLimit("The asset is larger than \(limitBytes) bytes; divide it into several assets.")
    }
    static let unknownUploadAddress = ServiceError(
        .notFound, "The address for the upload is unknown or has expired; ask for a new one.",
        frameworkCode: .unknownItem)
    static let unknownDownloadAddress = ServiceError(
        .notFound, "The asset's address is unknown or has expired; fetch the record again.",
        frameworkCode: .unknownItem)
    static let assetNotFound = ServiceError(
        .notFound, "The record has no asset in this field; name a field that has one.",
        frameworkCode: .unknownItem)

    // MARK: The schema

    static func unknownRecordType(_ name: String) -> ServiceError {
        notInProductionSchema("Cannot create new type \(name) in production schema")
    }

    static func unknownField(_ name: String, of recordType: String) -> ServiceError {
        notInProductionSchema(
            "Cannot create or modify field '\(name)' in record '\(recordType)' in production schema"
        )
    }

    /// - Parameter reason: in Apple's words.
    private static func notInProductionSchema(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, stratusCode: .notInProductionSchema)
    }

    static func recordTypeIsFull(_ recordType: String, limit: Int) -> ServiceError {
        overLimit(
            "The record type \(recordType) has \(limit) fields, the most allowed; use another type."
        )
    }
    static func tooManyRecordTypes(limit: Int) -> ServiceError {
        overLimit("The container has \(limit) record types, the most allowed; use one of them.")
    }

    // MARK: Subscriptions and devices

    static let subscriptionNotFound = ServiceError(
        .notFound, "Subscription not found", frameworkCode: .unknownItem)
    static let duplicateSubscription = ServiceError(
        .internalError, "could not find subscription we just created")
    static func tooManyPolls(limit: Int) -> ServiceError {
        ServiceError(
            .throttled,
            "\(limit) long polls wait under the push token, the most allowed; keep one at a time.",
            retryAfterSeconds: 5, frameworkCode: .requestRateLimited)
    }
    static let unknownPushEnvironment = invalid(
        "The apnsEnvironment is neither development nor production; give one of them.")
    static let unknownPushToken = ServiceError(
        .notFound, "The push token is unknown or has expired; create a new one.",
        frameworkCode: .unknownItem)
}
