import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StratusRecords
import StratusRuntime
import StratusWire

/// A transport that reaches a service over HTTP (Wire.md, "Addresses").
///
/// It signs in by itself if a development user is named, adopts the token that an answer carries, and signs in again
/// once when the service requires a user. All transports of a process with the same ``Network`` share one HTTP client
/// and its open connections.
///
/// ```swift
/// let transport = HTTPTransport(
///     origin: "http://127.0.0.1:8080",
///     credentials: .init(apiToken: "development", developmentUser: "alice"), deviceID: "phone")
/// if let transport { CloudConnection.use(CloudConnection(transport: transport, hasAccount: true)) }
/// ```
public final class HTTPTransport: Transport {
    /// The tokens that the device sends to the service.
    public struct Credentials: Sendable {
        /// Identifies the app to the service; `development` for `stratus serve --dev`.
        public var apiToken: String
        /// A user's token.
        public var webAuthToken: String?
        /// Signs in under this name at a service that runs with `--dev`.
        public var developmentUser: String?

        /// Makes credentials of the given tokens; without a token or a user name, no user is signed in.
        public init(
            apiToken: String, webAuthToken: String? = nil, developmentUser: String? = nil
        ) {
            self.apiToken = apiToken
            self.webAuthToken = webAuthToken
            self.developmentUser = developmentUser
        }

        /// Whether there is a user's token, or a name to sign in under.
        public var namesUser: Bool { webAuthToken != nil || developmentUser != nil }
    }

    /// Scheme, host and port, without a slash at the end.
    let origin: String
    let apiToken: String
    let deviceID: String
    let session: WebAuthSession
    let network: Network
    let world: World
    let limits = Limits()
    /// Whether answers are requested in gzip (decision 26).
    private let takesGzip: Bool
    /// Whether the service is Stratus's, which has extensions of Apple's protocol (decision 1).
    let knowsExtensions: Bool

    /// The largest answer in bytes: 2,000 records of 1 MB do not fit, but no page should be so
    /// large.
    static let maximumAnswerBytes = 256_000_000

    /// - Parameter origin: such as `http://127.0.0.1:8080`.
    /// - Parameter credentials: the tokens of the app and, if a user is signed in, of the user.
    /// - Parameter deviceID: stays the same whenever the app is started on this device.
    /// - Parameter network: trusted certificates and the proxy; read from the environment by
    ///   default.
    /// - Parameter world: the time limits of requests and the pauses between attempts; tests pass their own.
    /// - Returns: nil when the origin is not an http or https address.
    public convenience init?(
        origin: String, credentials: Credentials, deviceID: String, network: Network = Network(),
        world: World = .live
    ) {
        self.init(
            origin: origin, credentials: credentials, deviceID: deviceID,
            knowsExtensions: !origin.hasPrefix(Self.applesOrigin), network: network, world: world)
    }

    init?(
        origin: String, credentials: Credentials, deviceID: String, knowsExtensions: Bool,
        network: Network = Network(), world: World = .live
    ) {
        // An origin that was read from a file may end with a line break.
        let origin = origin.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let url = URL(string: origin), let scheme = url.scheme, url.host != nil,
            scheme == "http" || scheme == "https", (1...65_535).contains(url.port ?? 80)
        else { return nil }
        takesGzip = !Network.isLoopback(url.host?.lowercased() ?? "")
        self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        apiToken = credentials.apiToken
        self.deviceID = deviceID
        self.knowsExtensions = knowsExtensions
        self.network = network
        self.world = world
        session = WebAuthSession(
            token: credentials.webAuthToken, developmentUser: credentials.developmentUser)
    }

    public func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        if !knowsExtensions,
            let answer = try await documentedAnswer(
                to: request, of: E.self, at: target, timeoutSeconds)
        {
            return answer
        }
        return try await sendWhole(E.self, request, target, timeoutSeconds)
    }

    func sendWhole<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, _ target: RequestTarget, _ timeoutSeconds: Double
    ) async throws -> E.Answer {
        let body = Self.body(of: request, for: E.self)
        if let body, body.count > limits.requestBodyBytes {
            throw TransportError(
                .requestTooLarge,
                "The request has \(body.count) bytes, and a service takes \(limits.requestBodyBytes);"
                    + " send fewer or smaller records in one.")
        }
        let token = try await session.token { try await self.signIn($0, timeoutSeconds) }
        try AccountCheck.current?()
        do {
            return try await exchange(E.self, request, body, target, token, timeoutSeconds).answer
        } catch let failure as ServiceFailure where failure.error.code == .authenticationRequired {
            guard session.canSignIn else { throw failure }
            let fresh = try await session.renewedToken(after: token) {
                try await self.signIn($0, timeoutSeconds)
            }
            try AccountCheck.current?()
            return try await exchange(E.self, request, body, target, fresh, timeoutSeconds).answer
        }
    }

    /// The bytes of a request; nil when it is empty and the endpoint then uses GET.
    static func body<E: Endpoint>(of request: E.Request, for endpoint: E.Type) -> [UInt8]? {
        let bytes = wireBytes(of: request, reservingBytes: 4_096)
        return E.isReadWithoutBody && bytes == Array("{}".utf8) ? nil : bytes
    }

    public func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        // The service answers a long poll without a notification earlier than that. A timeout means
        // that the connection is dead, and perhaps that a notification was sent into it.
        let response = try await execute(
            HTTPClientRequest(url: webcourierURL), timeoutSeconds: timeoutSeconds)
        try check(response)
        guard response.body.readableBytes > 0 else { return nil }
        return try read(response) { try NotificationPayload.read(from: $0) }
    }

    // MARK: One exchange

    func exchange<E: Endpoint>(
        _ endpoint: E.Type, _ asked: E.Request, _ body: [UInt8]?, _ target: RequestTarget,
        _ token: String?, _ timeoutSeconds: Double, apiToken: String? = nil
    ) async throws -> (answer: E.Answer, webAuthToken: String?) {
        var request = HTTPClientRequest(url: url(E.self, target, token, apiToken: apiToken))
        if takesGzip { request.headers.add(name: "Accept-Encoding", value: "gzip") }
        if let body {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        let response = try await execute(request, timeoutSeconds: timeoutSeconds)
        let next = response.webAuthToken
        if let token, let next { session.adopt(next, after: token) }
        try check(response)
        return (try read(response) { try E.answer(to: asked, from: $0) }, next)
    }

    /// `{origin}/{module}/1/{container}/{environment}[/{database}]/{entity}/{action}?…`
    func url<E: Endpoint>(
        _ endpoint: E.Type, _ target: RequestTarget, _ token: String?, apiToken: String? = nil
    ) -> String {
        var url = origin + (E.isInDatabase ? "/database/1/" : "/device/1/")
        url += PercentEncoding.text(target.container.container)
        url += "/" + target.container.environment.rawValue
        if E.isInDatabase { url += "/" + (target.scope ?? .public).pathSegment }
        url += "/" + E.path + "?ckAPIToken=" + PercentEncoding.text(apiToken ?? self.apiToken)
        if let token { url += "&ckWebAuthToken=" + PercentEncoding.text(token) }
        url += "&clientId=" + PercentEncoding.text(target.deviceID ?? deviceID)
        return knowsExtensions ? url + "&stratusExtensions=1" : url
    }

    func signIn(_ user: String, _ timeoutSeconds: Double) async throws -> String {
        var request = HTTPClientRequest(url: origin + "/dev/sign-in")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: wireBytes(of: DevSignIn.Request(user: user))))
        let response = try await execute(request, timeoutSeconds: timeoutSeconds)
        do {
            try check(response)
        } catch let failure as ServiceFailure where failure.error.code == .notFound {
            throw ServiceFailure(
                ServiceError(
                    .authenticationRequired,
                    "The service runs without --dev, so signing in by name is not available: set"
                        + " STRATUS_WEB_AUTH_TOKEN instead of STRATUS_DEV_USER.",
                    stratusCode: .signInRefused),
                uuid: failure.uuid, address: origin)
        }
        return try read(response) { try readWire(DevSignIn.Answer.self, from: $0) }.webAuthToken
    }
}

/// An HTTP answer with its whole body.
struct HTTPResponse: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: ByteBuffer

    var webAuthToken: String? {
        headers.first(name: "X-Apple-CloudKit-Web-Auth-Token")
            ?? headers.first(name: "X-Apple-CloudKit-Session")
    }
}
