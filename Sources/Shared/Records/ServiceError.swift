/// An error of the service with a code of the protocol.
///
/// StratusServer translates it to HTTP and StratusClient to `CKError`. StratusStorage translates SQL errors, which
/// become errors of this type in StratusService.
public struct ServiceError: Error, Hashable, Sendable {
    /// A code of the protocol. The set is open: a client must be able to handle a code that it does not know.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public var code: Code

    /// A constant sentence that says what happened and what to do.
    public var reason: String

    /// How long to wait before the same request may be tried again, in seconds. When nil, the request
    /// must not be repeated as it was.
    public var retryAfterSeconds: Double?

    /// Where a person can sign in; only with ``Code/authenticationRequired``.
    public var redirectURL: String?

    /// The code that our own client should throw if the protocol's code is not specific enough: the protocol has no
    /// "limit exceeded". An extension that others ignore.
    public var frameworkCode: FrameworkErrorCode?

    /// The service's own code, where CloudKit has none; only without ``frameworkCode``. An extension that
    /// others ignore.
    public var stratusCode: StratusErrorCode?

    /// Whether a zone does not exist because its user reset encrypted data that could not be read any more; only with
    /// ``Code/zoneNotFound``. An extension that others ignore.
    public var userDidResetEncryptedData: Bool

    /// The last version of the history that the change token's device and the service have in common;
    /// only with ``Code/changeTokenExpired``. An extension that others ignore.
    ///
    /// In versions of the zone, as in change tags of records before the dot, in base 36; for a database's token, in
    /// versions of the database. A record that a device received at or below it and that is missing now was deleted;
    /// one that it received above it may have been lost.
    public var lastIntactVersion: Int64?

    public init(
        _ code: Code, _ reason: String, retryAfterSeconds: Double? = nil,
        redirectURL: String? = nil, frameworkCode: FrameworkErrorCode? = nil,
        stratusCode: StratusErrorCode? = nil, userDidResetEncryptedData: Bool = false,
        lastIntactVersion: Int64? = nil
    ) {
        self.code = code
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.redirectURL = redirectURL
        self.frameworkCode = frameworkCode
        self.stratusCode = stratusCode
        self.userDidResetEncryptedData = userDidResetEncryptedData
        self.lastIntactVersion = lastIntactVersion
    }
}

extension ServiceError.Code {
    public static let accessDenied = Self(rawValue: "ACCESS_DENIED")
    public static let atomicError = Self(rawValue: "ATOMIC_ERROR")
    public static let authenticationFailed = Self(rawValue: "AUTHENTICATION_FAILED")
    public static let authenticationRequired = Self(rawValue: "AUTHENTICATION_REQUIRED")
    public static let badRequest = Self(rawValue: "BAD_REQUEST")
    public static let changeTokenExpired = Self(rawValue: "CHANGE_TOKEN_EXPIRED")
    public static let conflict = Self(rawValue: "CONFLICT")
    public static let exists = Self(rawValue: "EXISTS")
    public static let internalError = Self(rawValue: "INTERNAL_ERROR")
    public static let notFound = Self(rawValue: "NOT_FOUND")
    public static let quotaExceeded = Self(rawValue: "QUOTA_EXCEEDED")
    public static let throttled = Self(rawValue: "THROTTLED")
    public static let tryAgainLater = Self(rawValue: "TRY_AGAIN_LATER")
    public static let uniqueFieldError = Self(rawValue: "UNIQUE_FIELD_ERROR")
    public static let validatingReferenceError = Self(rawValue: "VALIDATING_REFERENCE_ERROR")
    public static let zoneBusy = Self(rawValue: "ZONE_BUSY")
    public static let zoneNotFound = Self(rawValue: "ZONE_NOT_FOUND")

    /// The HTTP status for the code when a whole request fails.
    public var httpStatus: Int {
        switch self {
        case .accessDenied: 403
        case .authenticationFailed: 401
        case .authenticationRequired: 421
        case .conflict, .exists: 409
        case .notFound, .zoneNotFound: 404
        case .quotaExceeded: 413
        case .throttled: 429
        case .tryAgainLater, .zoneBusy: 503
        case .validatingReferenceError: 412
        case .internalError: 500
        default: 400
        }
    }
}
