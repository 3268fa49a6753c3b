extension ServiceError {
    /// `CKError.Code` raw values that say more than the protocol's code.
    package enum Framework {
        package static let requestRateLimited = 7
        package static let permissionFailure = 10
        package static let unknownItem = 11
        package static let invalidArguments = 12
        package static let serverRejectedRequest = 15
        package static let changeTokenExpired = 21
        package static let zoneBusy = 23
        package static let badDatabase = 24
        package static let quotaExceeded = 25
        package static let zoneNotFound = 26
        package static let limitExceeded = 27
        package static let userDeletedZone = 28
        package static let tooManyParticipants = 29
        package static let alreadyShared = 30
        package static let referenceViolation = 31
        package static let accountRestricted = 32
        package static let participantMayNeedVerification = 33
        package static let assetNotAvailable = 35
        package static let participantAlreadyInvited = 37
    }

    /// A request that is malformed, or asks for what there is not.
    package static func invalid(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, frameworkCode: Framework.invalidArguments)
    }

    /// A request that exceeds a limit.
    package static func overLimit(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, frameworkCode: Framework.limitExceeded)
    }

    /// A value of another type than the field's.
    package static func expected(_ type: FieldType) -> ServiceError {
        invalid("Invalid value, expected type \(type.rawValue).")
    }
}
