import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StratusRecords
import StratusRuntime
import StratusWire

/// The way to a service over HTTP (Wire.md, "Addresses").
///
/// Signs in by itself where a development user is named, adopts the token that an answer carries,
/// and signs in again once when the service wants a user. All transports of a process that reach their
/// services alike (``Network``) share one HTTP client and its open connections.
public final class HTTPTransport: Transport {
    /// What the device shows to the service.
    public struct Credentials: Sendable {
        /// Names the app to the service; `development` for `stratus serve --dev`.
        public var apiToken: String
        /// A user's token.
        public var webAuthToken: String?
        /// Signs in under this name at a service that runs with `--dev`.
        public var developmentUser: String?

        public init(
            apiToken: String, webAuthToken: String? = nil, developmentUser: String? = nil
        ) {
            self.apiToken = apiToken
            self.webAuthToken = webAuthToken
            self.developmentUser = developmentUser
        }

        public var namesUser: Bool { webAuthToken != nil || developmentUser != nil }
    }

    let world = World.live
    /// Scheme, host and port, without a slash at the end.
    let origin: String
    let apiToken: String
    let deviceID: String
    let session: WebAuthSession
    let network: Network
    let limits = Limits()
    /// Whether answers are asked for in gzip (decision 26).
    private let takesGzip: Bool
    /// Whether the service is one of ours, which knows more than Apple's pages say (decision 1).
    let knowsExtensions: Bool

    /// Bytes of an answer at the most: 2,000 records of 1 MB do not fit, but no page is meant to be
    /// so large.
    static let maximumAnswerBytes = 256_000_000

    /// - Parameter origin: such as `http://127.0.0.1:8080`.
    /// - Parameter credentials: of the app and, if somebody is signed in, of the user.
    /// - Parameter deviceID: the same at each start of the same device.
    /// - Parameter network: whom TLS trusts, and the proxy; as the environment says unless given.
    /// - Returns: nil when the origin is no http or https address.
    public convenience init?(
        origin: String, credentials: Credentials, deviceID: String, network: Network = Network()
    ) {
        self.init(
            origin: origin, credentials: credentials, deviceID: deviceID,
            knowsExtensions: !origin.hasPrefix(Self.applesOrigin), network: network)
    }

    init?(
        origin: String, credentials: Credentials, deviceID: String, knowsExtensions: Bool,
        network: Network = Network()
    ) {
        // A line end from a file is nobody's intention.
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
                "The request is larger than a service takes; send fewer or smaller"
                    + " records in one.")
        }
        let token = try await session.token { try await self.signIn($0, timeoutSeconds) }
        do {
            return try await exchange(E.self, request, body, target, token, timeoutSeconds).answer
        } catch let failure as ServiceFailure where failure.error.code == .authenticationRequired {
            guard session.canSignIn else { throw failure }
            let fresh = try await session.renewedToken(after: token) {
                try await self.signIn($0, timeoutSeconds)
            }
            return try await exchange(E.self, request, body, target, fresh, timeoutSeconds).answer
        }
    }

    /// The bytes of a request; nil when it says nothing and the endpoint is asked with GET then.
    static func body<E: Endpoint>(of request: E.Request, for endpoint: E.Type) -> [UInt8]? {
        let bytes = wireBytes(of: request, reservingBytes: 4_096)
        return E.isReadWithoutBody && bytes == Array("{}".utf8) ? nil : bytes
    }

    public func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        let response: HTTPResponse
        do {
            response = try await execute(
                HTTPClientRequest(url: webcourierURL), timeoutSeconds: timeoutSeconds)
        } catch let error as TransportError where error.code == .timedOut {
            // Nothing came in time; that is an answer.
            return nil
        }
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
        url += Self.escaped(target.container.container)
        url += "/" + target.container.environment.rawValue
        if E.isInDatabase { url += "/" + (target.scope ?? .public).pathSegment }
        url += "/" + E.path + "?ckAPIToken=" + Self.escaped(apiToken ?? self.apiToken)
        if let token { url += "&ckWebAuthToken=" + Self.escaped(token) }
        url += "&clientId=" + Self.escaped(target.deviceID ?? deviceID)
        return knowsExtensions ? url + "&stratusExtensions=1" : url
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    static func escaped(_ text: String) -> String {
        // A Swift String always has UTF-8, so the encoding cannot fail.
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
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
                    "The service runs without --dev, where a name signs nobody in: set"
                        + " STRATUS_WEB_AUTH_TOKEN instead of STRATUS_DEV_USER."),
                uuid: failure.uuid, address: origin)
        }
        return try read(response) { try readWire(DevSignIn.Answer.self, from: $0) }.webAuthToken
    }
}

/// An answer in full.
struct HTTPResponse: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: ByteBuffer

    var webAuthToken: String? {
        headers.first(name: "X-Apple-CloudKit-Web-Auth-Token")
            ?? headers.first(name: "X-Apple-CloudKit-Session")
    }
}
