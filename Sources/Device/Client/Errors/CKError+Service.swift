import Foundation
import StratusRecords
import StratusWire

// The one translation of everything that can go wrong below the framework into `CKError`.

extension CKError {
    /// What an error of the service is about; the same word means different things for each.
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
    /// - Parameter address: where the service is, for sentences about what was set up wrongly.
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
        let code = error.frameworkCode ?? Self.code(error, about: subject)
        let sentence = error.advice ?? error.reason
        let place = error.isAboutSetup ? address : nil
        details.merge(place.asDetail) { $1 }
        self.init(code, sentence + place.inBrackets, details: details, cause: error)
    }

    /// Tells that a request needs an account, and how this device gets one.
    ///
    /// - Parameter sentence: what needs it.
    package static func notSignedIn(_ sentence: String, at address: String?) -> CKError {
        let advice =
            " Call CKContainer.signIn(), run stratus-login, or set STRATUS_WEB_AUTH_TOKEN; or"
            + " STRATUS_DEV_USER where the service runs with --dev."
        return CKError(
            .notAuthenticated, sentence + advice + address.inBrackets, details: address.asDetail)
    }

    /// What no timer could measure would end the process of whoever waits for it.
    private static func measured(_ seconds: Double) -> NSNumber {
        NSNumber(value: max(0, min(seconds, longestRetryAfterSeconds)))
    }

    private static func code(_ error: ServiceError, about subject: Subject) -> Code {
        switch error.code {
        case .accessDenied: .permissionFailure
        case .atomicError: .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: .notAuthenticated
        // The live service says so of tokens that it does not know.
        case .badRequest where error.reason.hasPrefix("Unknown sync continuation"):
            .changeTokenExpired
        case .badRequest: .invalidArguments
        case .changeTokenExpired: .changeTokenExpired
        case .conflict, .exists: .serverRecordChanged
        // Natively a fault of the service shows as "Server Rejected Request" (15/2000).
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

    /// Translates whatever a transport threw.
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
                "The transport failed with an error of an unknown type; see the cause.",
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

    /// For answers that are not the protocol's, as proxies give them.
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

    static var cancelled: CKError {
        CKError(.operationCancelled, "The operation was cancelled.")
    }

    /// Whether the same request may succeed a little later, without anything being changed.
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
    /// An address as an error has it.
    fileprivate var asDetail: [String: Any] { map { [CKError.addressKey: $0] } ?? [:] }

    /// An address as it ends a sentence.
    fileprivate var inBrackets: String { map { " (\($0))" } ?? "" }
}

extension ServiceError {
    /// Whether the app's address, token or environment may be the mistake.
    fileprivate var isAboutSetup: Bool {
        advice != nil || code == .authenticationFailed || code == .authenticationRequired
    }

    /// What to do where the service's words, which are Apple's, do not tell; they come first.
    fileprivate var advice: String? {
        // A wrong password, or an address that a token is not for: the sentence says so itself.
        if code == .authenticationFailed, !reason.hasSuffix(".") {
            return reason + ": the service takes no such token for this container and environment."
                + " Set STRATUS_API_TOKEN to one that `stratus token create` made for them;"
                + " \"development\" is good with --dev alone."
        }
        if code == .authenticationRequired, reason == "request needs authorization" {
            return reason
                + ": the service takes no such web-auth token, or no longer. Sign in again,"
                + " or set STRATUS_WEB_AUTH_TOKEN to one of `stratus token create --user`."
        }
        if reason.hasPrefix("Cannot create"), reason.hasSuffix("in production schema") {
            return reason + ": save one in development, then `stratus schema deploy`."
        }
        return nil
    }
}

extension TransportError {
    /// The same in the words of Foundation's loading system, which apps look for under an error of
    /// the network; this one is its cause.
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
    /// Gathers the errors of items, for the completion blocks that know only one error.
    ///
    /// - Returns: nil when there are none.
    package static func partialFailure(_ errors: [AnyHashable: any Error]) -> CKError? {
        guard !errors.isEmpty else { return nil }
        return CKError(
            .partialFailure, "Some items failed; see partialErrorsByItemID.",
            details: [CKPartialErrorsByItemIDKey: errors])
    }
}
