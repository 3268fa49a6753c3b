import StratusRecords
import StratusWire

/// Carries requests from this device to a service: over HTTP, or by calls to a service in the same
/// process.
///
/// A transport sends the typed requests of one device and at most one account. It does not know
/// about records or operations, and repeats a request only after signing in again.
public protocol Transport: Sendable {
    /// The origin of share links, such as `https://cloud.example.org`, without a slash at the end.
    var shareLinkOrigin: String { get }

    /// Sends a request and returns the service's answer.
    ///
    /// - Throws: ``ServiceFailure`` when the service refused, ``TransportError`` when it could not
    ///   be reached or its answer could not be read, `CancellationError`.
    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer

    /// Waits for one notification at the address from `tokens/create`.
    ///
    /// - Returns: nil when the service answered that there is none; call it again.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``; ``TransportError`` `timedOut` if the service did not answer, so
    ///   that a notification may be lost.
    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload?

    /// Sends the bytes of an asset to an address from `assets/upload`.
    ///
    /// - Parameter timeoutSeconds: how long the transfer may stall.
    /// - Parameter asset: the bytes to send.
    /// - Parameter url: an address from `assets/upload`.
    /// - Returns: the value to save in the record's field.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``, and what reading the asset throws.
    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt

    /// Fetches the bytes of an asset.
    ///
    /// - Parameters:
    ///   - url: the asset's `downloadURL`.
    ///   - timeoutSeconds: how long the transfer may stall.
    ///   - receive: takes the pieces in their order.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``, and what `receive` throws.
    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// Fetches the bytes of an asset from an offset, to resume an interrupted download.
    ///
    /// The default implementation fetches all bytes and skips the first.
    ///
    /// - Parameters:
    ///   - url: the asset's `downloadURL`.
    ///   - offset: how many bytes the caller already has; less than the asset's size.
    ///   - timeoutSeconds: how long the transfer may stall.
    ///   - receive: takes the pieces in their order.
    /// - Throws: as ``download(from:timeoutSeconds:receive:)``.
    func download(
        from url: String, startingAt offset: Int64, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws
}

extension Transport {
    // Defaults for a transport that carries only requests.

    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        throw TransportError(
            .notConfigured,
            "This transport does not support assets; use one that does.")
    }

    public func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        throw TransportError(
            .notConfigured,
            "This transport does not support assets; use one that does.")
    }

    public func download(
        from url: String, startingAt offset: Int64, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let skipped = SkippedBytes(offset)
        try await download(from: url, timeoutSeconds: timeoutSeconds) { piece in
            let rest = skipped.rest(of: piece)
            if !rest.isEmpty { try await receive(rest) }
        }
    }
}

extension Transport {
    /// The default for a service without an address: a host name that is reserved and never
    /// resolves (RFC 2606).
    public var shareLinkOrigin: String { "https://stratus.invalid" }
}

/// A transport whose account can change while it is in use.
public protocol AccountTransport: Transport {
    /// Sends this user's token from the next request on; nil signs out.
    func changeAccount(webAuthToken: String?)

    /// Requests a web-auth token of the same user for use with another API token.
    ///
    /// - Throws: as ``Transport/send(_:_:to:timeoutSeconds:)``; `CKError.notAuthenticated` when no user is signed in.
    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String
}

/// The container, database and device that a request is for.
public struct RequestTarget: Hashable, Sendable {
    /// The container that the request is for, in one of its environments.
    public var container: ContainerAddress
    /// The database of the request; nil for endpoints outside databases (`Endpoint.isInDatabase`).
    public var scope: DatabaseScope?
    /// The device ID to send if it differs from the transport's own: the service identifies a
    /// request that an earlier process began by the device ID of that process.
    public var deviceID: String?

    /// Makes a target.
    ///
    /// - Parameter scope: the database; nil for endpoints outside databases.
    /// - Parameter deviceID: nil sends the transport's own device ID.
    public init(
        container: ContainerAddress, scope: DatabaseScope?, deviceID: String? = nil
    ) {
        self.container = container
        self.scope = scope
        self.deviceID = deviceID
    }
}

/// The service refused a request as a whole.
public struct ServiceFailure: Error, Sendable {
    /// The service's error: its code, its reason, and how long to wait before a retry.
    public var error: ServiceError
    /// The identifier under which the service logged the failure.
    public var uuid: String?
    /// One result per operation if an atomic batch failed.
    public var records: [RecordResult]?
    /// The service's address, if it has one.
    public var address: String?

    /// Makes a failure of the service's error and the details of the answer, if there are any.
    public init(
        _ error: ServiceError, uuid: String? = nil, records: [RecordResult]? = nil,
        address: String? = nil
    ) {
        self.error = error
        self.address = address
        self.uuid = uuid
        self.records = records
    }
}

/// A request that the service did not answer, or answered in a form that is not the protocol's.
public struct TransportError: Error, Sendable {
    /// The kind of a transport's failure. More kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// This device has no route to the service.
        public static let noRoute = Self(rawValue: "noRoute")
        /// Nothing is listening at the service's address.
        public static let refused = Self(rawValue: "refused")
        /// The server at the service's address could not prove its identity; nothing was sent.
        public static let notTrusted = Self(rawValue: "notTrusted")
        /// The answer did not arrive in time.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The connection was lost after the request was sent: the outcome is unknown.
        public static let answerLost = Self(rawValue: "answerLost")
        /// The answer does not follow the protocol.
        public static let answerUnreadable = Self(rawValue: "answerUnreadable")
        /// The request is larger than the transport's limit.
        public static let requestTooLarge = Self(rawValue: "requestTooLarge")
        /// No service was configured.
        public static let notConfigured = Self(rawValue: "notConfigured")
    }

    /// The kind of the failure, by which it becomes a `CKError`.
    public var code: Code
    /// Says what happened, to what, and what to do; ``address`` is added to it.
    public var sentence: String
    /// The HTTP status, if there was one.
    public var httpStatus: Int?
    /// Seconds to wait before the request may be repeated, if the answer says so.
    public var retryAfterSeconds: Double?
    /// The error of the HTTP client or the system that caused this one, if there is one.
    public var cause: (any Error)?
    /// The service's address, if it has one.
    public var address: String?

    /// Makes an error of a transport.
    ///
    /// - Parameter sentence: says what happened, to what, and what to do.
    public init(
        _ code: Code, _ sentence: String, httpStatus: Int? = nil,
        retryAfterSeconds: Double? = nil, cause: (any Error)? = nil, address: String? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.address = address
        self.httpStatus = httpStatus
        self.retryAfterSeconds = retryAfterSeconds
        self.cause = cause
    }
}
