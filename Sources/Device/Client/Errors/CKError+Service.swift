import Foundation
import StratusRecords
import StratusWire

// Translates all errors from below the framework into `CKError`.

extension CKError {
    /// The kind of item that a service error is about; the same error code has a different meaning
    /// for each.
    enum Subject {
        case request
        case record
        case zone
        case subscription
        case changeToken
    }

    /// A week.
    private static let longestRetryAfterSeconds: Double = 604_800

    /// Translates an error of the service.
    ///
    /// - Parameter address: the service's address, for sentences about wrong configuration.
    init(
        _ error: ServiceError, about subject: Subject = .request, uuid: String? = nil,
        details: [String: Any] = [:], address: String? = nil
    ) {
        var details = details
        details["ServerErrorDescription"] = error.reason
        details["ServerErrorCode"] = error.code.rawValue
        details["RequestUUID"] = uuid
        details[CKErrorRetryAfterKey] = error.retryAfterSeconds.map(Self.measured)
        if error.userDidResetEncryptedData {
            details[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true)
        }
        details[CKErrorLastIntactVersionKey] = error.lastIntactVersion.map {
            NSNumber(value: max(0, $0))
        }
        details[deletionsAfterVersionKey] = error.deletionsAfterVersion.map {
            NSNumber(value: max(0, $0))
        }
        let code = error.frameworkCode ?? Self.code(error, about: subject)
        let sentence = error.advice ?? error.reason
        let place = error.isAboutSetup ? address : nil
        details.merge(place.asDetail) { $1 }
        self.init(code, sentence + place.inBrackets, details: details, cause: error)
    }

    /// The error of a request that needs an account; its sentence says how to sign in.
    ///
    /// - Parameter sentence: says what needs the account.
    package static func notSignedIn(_ sentence: String, at address: String?) -> CKError {
        let advice =
            " Call CKContainer.signIn(), run stratus-login, or set STRATUS_WEB_AUTH_TOKEN; or"
            + " STRATUS_DEV_USER where the service runs with --dev."
        return CKError(
            .notAuthenticated, sentence + advice + address.inBrackets, details: address.asDetail)
    }

    /// Limits the wait: a duration that a timer cannot represent would crash the process that
    /// waits.
    private static func measured(_ seconds: Double) -> NSNumber {
        NSNumber(value: max(0, min(seconds, longestRetryAfterSeconds)))
    }

    private static func code(_ error: ServiceError, about subject: Subject) -> Code {
        switch error.code {
        case .accessDenied: .permissionFailure
        case .atomicError: .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: .notAuthenticated
        // For Apple's service only, which has no code for tokens that it does not know and sends this reason. Stratus
        // sends `FrameworkErrorCode.changeTokenExpired`, which takes precedence.
        case .badRequest where error.reason.hasPrefix("Unknown sync continuation"):
            .changeTokenExpired
        case .badRequest: .invalidArguments
        case .changeTokenExpired: .changeTokenExpired
        case .conflict, .exists: .serverRecordChanged
        // On Apple's platforms a fault of the service appears as "Server Rejected Request"
        // (15/2000).
        case .internalError: .serverRejectedRequest
        case .notFound: subject == .zone ? .zoneNotFound : .unknownItem
        case .quotaExceeded: .quotaExceeded
        case .throttled: .requestRateLimited
        case .tryAgainLater: .serviceUnavailable
        case .uniqueFieldError: .constraintViolation
        case .validatingReferenceError: .referenceViolation
        case .zoneBusy: .zoneBusy
        case .zoneNotFound: .zoneNotFound
        default: .serverRejectedRequest
        }
    }

    /// Translates any error that a transport threw.
    init(requestFailedWith error: any Error) {
        switch error {
        case let error as CKError: self = error
        case let failure as ServiceFailure:
            self.init(
                failure.error, uuid: failure.uuid, details: failure.address.asDetail,
                address: failure.address)
        case let error as TransportError: self.init(error)
        case is CancellationError: self = .cancelled
        default:
            self.init(
                .internalError,
                "The transport failed with an unexpected error, \(type(of: error)); see the cause.",
                cause: error)
        }
    }

    private init(_ error: TransportError) {
        let code: Code =
            switch error.code {
            case .noRoute: .networkUnavailable
            case .refused, .notTrusted, .timedOut: .networkFailure
            case .answerLost: .serverResponseLost
            case .requestTooLarge: .limitExceeded
            case .notConfigured: .badContainer
            default: Self.code(httpStatus: error.httpStatus)
            }
        var details: [String: Any] = [:]
        details["HTTPStatus"] = error.httpStatus
        details[CKErrorRetryAfterKey] = error.retryAfterSeconds.map(Self.measured)
        details.merge(error.address.asDetail) { $1 }
        let place = [error.httpStatus.map { "HTTP \($0)" }, error.address].compactMap(\.self)
        let sentence =
            place.isEmpty ? error.sentence : "\(error.sentence) (\(place.joined(separator: ", ")))"
        self.init(code, sentence, details: details, cause: error.urlError ?? error)
    }

    /// The code for answers that are not the protocol's, such as those of proxies.
    private static func code(httpStatus: Int?) -> Code {
        switch httpStatus {
        case 401, 421: .notAuthenticated
        case 403: .permissionFailure
        case 413: .limitExceeded
        case 429: .requestRateLimited
        case 502, 503, 504: .serviceUnavailable
        default: .serverRejectedRequest
        }
    }

    /// Whether something between this device and the service answered in its place, or the answer cannot be read: the
    /// request may have been carried out.
    ///
    /// False if a proxy says that it forwarded nothing: it asks for another sign-in, refuses the size or the rate, or
    /// is not ready (503).
    package var leavesOutcomeUnknown: Bool {
        guard let error = userInfo[NSUnderlyingErrorKey] as? TransportError,
            error.code == .answerUnreadable
        else { return false }
        return switch error.httpStatus {
        case 401, 403, 404, 405, 413, 421, 429, 503: false
        default: true
        }
    }

    /// Whether this is the error of a record that exists, and whose fields this version of the client cannot read.
    package var isOfUnreadableRecord: Bool {
        guard code == .internalError else { return false }
        let cause = userInfo[NSUnderlyingErrorKey]
        return cause is WireError || (cause as? ServiceError)?.frameworkCode == .internalError
    }

    static var cancelled: CKError {
        CKError(.operationCancelled, "The operation was cancelled.")
    }

    /// Whether the same request may succeed a little later without a change.
    var isTransient: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable,
            .requestRateLimited, .zoneBusy:
            true
        default: false
        }
    }
}

extension String? {
    /// The address as an entry of an error's user info.
    fileprivate var asDetail: [String: Any] { map { [CKError.addressKey: $0] } ?? [:] }

    /// The address in brackets, to end a sentence.
    fileprivate var inBrackets: String { map { " (\($0))" } ?? "" }
}

extension ServiceError {
    /// Whether the cause may be a wrong address, token or environment.
    fileprivate var isAboutSetup: Bool {
        advice != nil || code == .authenticationFailed || code == .authenticationRequired
    }

    /// The service's reason, which is in Apple's words, followed by what to do; nil if the reason already says it.
    fileprivate var advice: String? {
        if stratusCode == .notInProductionSchema {
            return openReason + ": save one in development, then `stratus schema deploy`."
        }
        // The reason says what the person must do.
        if stratusCode == .signInRefused { return nil }
        if code == .authenticationFailed {
            return openReason
                + ": the service does not accept this token for this container and environment."
                + " Set STRATUS_API_TOKEN to one that `stratus token create` made for them;"
                + " \"development\" is valid only with --dev."
        }
        if code == .authenticationRequired {
            return openReason
                + ": the service does not accept this web-auth token, or no longer does. Sign in again,"
                + " or set STRATUS_WEB_AUTH_TOKEN to one of `stratus token create --user`."
        }
        return nil
    }

    /// The reason without a period at its end, to be continued.
    private var openReason: String { reason.last == "." ? String(reason.dropLast()) : reason }
}

extension TransportError {
    /// The `URLError` that apps look for as the cause of a network error; its own cause is this
    /// error.
    fileprivate var urlError: URLError? {
        let code: URLError.Code? =
            switch code {
            case .noRoute: .notConnectedToInternet
            case .refused: .cannotConnectToHost
            case .timedOut: .timedOut
            case .answerLost: .networkConnectionLost
            default: nil
            }
        return code.map { URLError($0, userInfo: [NSUnderlyingErrorKey: self]) }
    }
}

extension CKError {
    /// Combines the errors of items, for completion blocks that take one error.
    ///
    /// - Returns: nil when there are none.
    package static func partialFailure(_ errors: [AnyHashable: any Error]) -> CKError? {
        guard !errors.isEmpty else { return nil }
        return CKError(
            .partialFailure, "Some items failed (\(errors.count)); see partialErrorsByItemID.",
            details: [CKPartialErrorsByItemIDKey: errors])
    }
}
