/// An error of the service with a code of the protocol.
///
/// StratusServer translates it to HTTP and StratusClient to `CKError`. StratusStorage translates SQL errors, which
/// become errors of this type in StratusService.
///
/// ```swift
/// let error = ServiceError(.notFound, "There is no record hut-3; fetch the zone's changes.")
/// print(error.code.rawValue, error.reason)
/// ```
public struct ServiceError: Error, Hashable, Sendable {
    /// A code of the protocol. The set is open: a client must be able to handle a code that it does not know.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The protocol's code, sent as `serverErrorCode`.
    public var code: Code

    /// A sentence that says what happened, to what, and what to do. Some are in Apple's words.
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

    /// A version of the zone after which the service knows all deletions, and up to which the change token's device had
    /// everything; only with ``Code/changeTokenExpired``, if nothing was lost but no last intact version is known. An
    /// extension that others ignore.
    public var deletionsAfterVersion: Int64?

    /// Makes an error; the code and the reason are enough for one that must not be repeated unchanged.
    public init(
        _ code: Code, _ reason: String, retryAfterSeconds: Double? = nil,
        redirectURL: String? = nil, frameworkCode: FrameworkErrorCode? = nil,
        stratusCode: StratusErrorCode? = nil, userDidResetEncryptedData: Bool = false,
        lastIntactVersion: Int64? = nil, deletionsAfterVersion: Int64? = nil
    ) {
        self.code = code
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.redirectURL = redirectURL
        self.frameworkCode = frameworkCode
        self.stratusCode = stratusCode
        self.userDidResetEncryptedData = userDidResetEncryptedData
        self.lastIntactVersion = lastIntactVersion
        self.deletionsAfterVersion = deletionsAfterVersion
    }
}

extension ServiceError.Code {
    /// The caller may not use this endpoint, database, zone or record.
    public static let accessDenied = Self(rawValue: "ACCESS_DENIED")
    /// Another operation of the atomic batch failed; nothing is wrong with this one.
    public static let atomicError = Self(rawValue: "ATOMIC_ERROR")
    /// The API token, signature or origin is not accepted.
    public static let authenticationFailed = Self(rawValue: "AUTHENTICATION_FAILED")
    /// A user must sign in, at ``ServiceError/redirectURL``.
    public static let authenticationRequired = Self(rawValue: "AUTHENTICATION_REQUIRED")
    /// The request or operation is malformed, contradicts the schema, or exceeds a limit.
    public static let badRequest = Self(rawValue: "BAD_REQUEST")
    /// The change token is no longer valid: fetch again without one.
    public static let changeTokenExpired = Self(rawValue: "CHANGE_TOKEN_EXPIRED")
    /// The change tag is stale, or a record to create exists already.
    public static let conflict = Self(rawValue: "CONFLICT")
    /// What is to be created exists already. Apple's table has it; this service sends ``conflict`` (decision 21).
    public static let exists = Self(rawValue: "EXISTS")
    /// The service failed on the request or operation.
    public static let internalError = Self(rawValue: "INTERNAL_ERROR")
    /// What the request names does not exist, such as a record, a subscription or the address itself.
    public static let notFound = Self(rawValue: "NOT_FOUND")
    /// The storage of the user, or of the public database, is full.
    public static let quotaExceeded = Self(rawValue: "QUOTA_EXCEEDED")
    /// Too many requests or bytes; repeat after ``ServiceError/retryAfterSeconds``.
    public static let throttled = Self(rawValue: "THROTTLED")
    /// The service cannot take the request now; repeat it later.
    public static let tryAgainLater = Self(rawValue: "TRY_AGAIN_LATER")
    /// The value of a unique field is taken. CloudKit JS knows it; this service only sends it from a fault script.
    public static let uniqueFieldError = Self(rawValue: "UNIQUE_FIELD_ERROR")
    /// A reference or parent names a missing record, or other records need the one to delete.
    public static let validatingReferenceError = Self(rawValue: "VALIDATING_REFERENCE_ERROR")
    /// The zone cannot take the request now; without Stratus's extensions it is sent as ``tryAgainLater``.
    public static let zoneBusy = Self(rawValue: "ZONE_BUSY")
    /// The zone does not exist, or no longer exists.
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
