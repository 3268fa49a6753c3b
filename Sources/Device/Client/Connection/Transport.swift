import StratusRecords
import StratusWire

/// The way from this device to a service: HTTP, or straight into a service of the same process.
///
/// A transport carries typed requests of one device and, where there is one, of one account. It
/// knows nothing of records or operations, and repeats nothing by itself but a sign-in.
public protocol Transport: Sendable {
    /// The beginning of the links of shares, such as `https://cloud.example.org`, without a slash
    /// at the end.
    var shareLinkOrigin: String { get }

    /// Asks the service.
    ///
    /// - Throws: ``ServiceFailure`` when the service refused, ``TransportError`` when it was not
    ///   reached or not understood, `CancellationError`.
    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer

    /// Waits for one notification at the address that `tokens/create` answered.
    ///
    /// - Returns: nil when none came in time; ask again.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``.
    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload?

    /// Sends the bytes of an asset to an address that `assets/upload` answered.
    ///
    /// - Parameter timeoutSeconds: how long nothing may move.
    /// - Parameter asset: the bytes to send.
    /// - Parameter url: an address that `assets/upload` answered.
    /// - Returns: the value to save.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``, and what reading the asset throws.
    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt

    /// Fetches the bytes of an asset.
    ///
    /// - Parameters:
    ///   - url: the asset's `downloadURL`.
    ///   - timeoutSeconds: how long nothing may move.
    ///   - receive: takes the pieces in their order.
    /// - Throws: as ``send(_:_:to:timeoutSeconds:)``, and what `receive` throws.
    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// Fetches the bytes of an asset from one of them on: a download that was cut goes on.
    ///
    /// By default it fetches all of them and leaves out the first.
    ///
    /// - Parameters:
    ///   - url: the asset's `downloadURL`.
    ///   - offset: how many bytes are there already; fewer than the asset has.
    ///   - timeoutSeconds: how long nothing may move.
    ///   - receive: takes the pieces in their order.
    /// - Throws: as ``download(from:timeoutSeconds:receive:)``.
    func download(
        from url: String, startingAt offset: Int64, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws
}

extension Transport {
    // A transport may know requests alone.

    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        throw TransportError(
            .notConfigured,
            "This transport carries no assets; take one that does.")
    }

    public func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        throw TransportError(
            .notConfigured,
            "This transport carries no assets; take one that does.")
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
    /// Of a service without an address: a host that no name server will ever know (RFC 2606).
    public var shareLinkOrigin: String { "https://stratus.invalid" }
}

/// A transport whose account can change while it is in use.
public protocol AccountTransport: Transport {
    /// Sends this user's token from the next request on; nil is nobody's.
    func changeAccount(webAuthToken: String?)

    /// Asks the service for a web-auth token of the same user, to be used with another API token.
    ///
    /// - Throws: as ``Transport/send(_:_:to:timeoutSeconds:)``.
    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String
}

/// Which part of the service a request goes to.
public struct RequestTarget: Hashable, Sendable {
    public var container: ContainerAddress
    /// Nil for endpoints outside databases (`Endpoint.isInDatabase`).
    public var scope: DatabaseScope?
    /// The device for which the request is made, where that is not the transport's own: a request
    /// that an earlier process began is known to the service by that one's name.
    public var deviceID: String?

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
    public var error: ServiceError
    /// The identifier under which the service logged the failure.
    public var uuid: String?
    /// One result per operation, when an atomic batch failed.
    public var records: [RecordResult]?
    /// The service's address, as far as there is one.
    public var address: String?

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

/// A request that the service did not answer, or not in the protocol's words.
public struct TransportError: Error, Sendable {
    /// What went wrong. The set is open.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// This device has no way to the service.
        public static let noRoute = Self(rawValue: "noRoute")
        /// Nobody listens at the service's address.
        public static let refused = Self(rawValue: "refused")
        /// Whoever listens at the service's address cannot show that it is the service: nothing was
        /// sent.
        public static let notTrusted = Self(rawValue: "notTrusted")
        /// The answer did not come in time.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The connection was lost after the request was sent: the outcome is unknown.
        public static let answerLost = Self(rawValue: "answerLost")
        /// The answer is not the protocol's.
        public static let answerUnreadable = Self(rawValue: "answerUnreadable")
        /// The request is larger than what the transport sends.
        public static let requestTooLarge = Self(rawValue: "requestTooLarge")
        /// No service was named.
        public static let notConfigured = Self(rawValue: "notConfigured")
    }

    public var code: Code
    /// A constant sentence that says what to do.
    public var sentence: String
    /// The HTTP status, where there was one.
    public var httpStatus: Int?
    /// Seconds to wait before the request may be repeated, where the answer says so.
    public var retryAfterSeconds: Double?
    public var cause: (any Error)?
    /// The service's address, as far as there is one.
    public var address: String?

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
