import StratusRecords

/// The body of an answer that failed as a whole (HTTP status other than 200).
public struct ErrorBody: WireObject, Hashable, Sendable {
    /// Identifies the request in the service's log and in the header `X-Apple-Request-UUID`; empty if absent.
    public var uuid = ""
    /// What went wrong with the request.
    public var error = ServiceError.unread
    /// One result per operation, when an atomic batch failed.
    public var records: [RecordResult]?

    /// Makes the body of a failed request.
    public init(uuid: String, error: ServiceError, records: [RecordResult]? = nil) {
        self.uuid = uuid
        self.error = error
        self.records = records
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.defaulted("uuid", &uuid)
        try coder.error(&error)
        try coder.optional("records", &records)
    }
}

extension ServiceError {
    /// The placeholder in a value whose members are still to be read.
    static let unread = ServiceError(.internalError, "")

    /// Whether an item of an answer is an error: it is one if and only if it has a code.
    static func isError(_ node: JSONNode) -> Bool {
        node["serverErrorCode"]?.isNull == false || node["extensionErrorCode"]?.isNull == false
    }

    init(wire node: JSONNode) throws(WireError) {
        let code: String =
            if let code: String = try node.optional("serverErrorCode") {
                code
            } else {
                try node.required("extensionErrorCode")
            }
        let number: Int? = try node.optional("stratusErrorCode")
        let frameworkCode = number.flatMap { FrameworkErrorCode(rawValue: $0) }
        self.init(
            Code(rawValue: code),
            // CloudKit JS does the same when there is no reason.
            try node.optional("reason") ?? code,
            retryAfterSeconds: try node.optional("retryAfter"),
            redirectURL: try node.optional("redirectURL", or: "redirectUrl"),
            // An unknown code of a newer service: the client uses the protocol's own until it is updated.
            frameworkCode: frameworkCode,
            stratusCode: frameworkCode == nil ? number.map { StratusErrorCode(rawValue: $0) } : nil,
            userDidResetEncryptedData: try node.optional("stratusDidResetEncryptedData") ?? false,
            lastIntactVersion: try node.optional("stratusLastIntactVersion"),
            deletionsAfterVersion: try node.optional("stratusDeletionsAfterVersion"))
    }

    /// Writes the members of the error into the open object.
    func writeMembers(to writer: inout JSONWriter) {
        let code = writer.hasDocumentedCodesOnly ? code.documented : code
        writer.member("serverErrorCode", code.rawValue)
        writer.member("reason", reason)
        writer.optional("retryAfter", retryAfterSeconds)
        writer.optional("redirectURL", redirectURL)
        writer.optional(
            "stratusErrorCode",
            frameworkCode?.rawValue ?? stratusCode?.rawValue
                ?? (code == self.code ? nil : self.code.undocumentedMeaning?.rawValue))
        if userDidResetEncryptedData { writer.member("stratusDidResetEncryptedData", true) }
        writer.optional("stratusLastIntactVersion", lastIntactVersion)
        writer.optional("stratusDeletionsAfterVersion", deletionsAfterVersion)
    }
}

extension ServiceError.Code {
    /// The closest documented code, for clients that know no others. Its HTTP status is the same.
    fileprivate var documented: Self {
        switch self {
        case .changeTokenExpired: .badRequest
        case .zoneBusy: .tryAgainLater
        default: self
        }
    }

    /// The meaning that the documented code does not express.
    fileprivate var undocumentedMeaning: FrameworkErrorCode? {
        switch self {
        case .changeTokenExpired: .changeTokenExpired
        case .zoneBusy: .zoneBusy
        default: nil
        }
    }
}

/// A request that failed as a whole: thrown by the service and passed on by transports.
public struct RequestFailure: Error, Hashable, Sendable {
    /// What went wrong with the request; ``ErrorBody`` has it in the answer.
    public var error: ServiceError
    /// One result per operation, when an atomic batch failed.
    public var records: [RecordResult]?
    /// Why the body was not read to its end; nil when it was, or when it is not known.
    package var unreadBody: UnreadBody?

    /// Makes the failure of a whole request.
    public init(_ error: ServiceError, records: [RecordResult]? = nil) {
        self.error = error
        self.records = records
    }

    package init(_ error: ServiceError, unreadBody: UnreadBody) {
        self.error = error
        self.unreadBody = unreadBody
    }

    /// Why a request's body was not read to its end. The rest may be in the connection, which cannot be used any more.
    package enum UnreadBody: Hashable, Sendable {
        case tooLarge
        case tooSlow
        /// The body is invalid, or the request was refused.
        case refused
    }
}
