import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import StratusRecords
import StratusWire

/// The way to a service over HTTP.
///
/// Credentials travel in the query, as CloudKit JS sends them. A web-auth token that comes with an answer
/// replaces the one before. When the service asks to sign in, a development user signs in again, once.
public final class HTTPTransport: Transport {
    /// What the requests show.
    public struct Credentials: Hashable, Sendable {
        public var apiToken: String
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

        var namesUser: Bool { webAuthToken != nil || developmentUser != nil }
    }

    /// Bytes of the largest answer that is read: a page of 2,000 records of ordinary size.
    static let maximumAnswerBytes = 256 * 1_024 * 1_024
    static let signInSeconds: Double = 30

    private let origin: String
    private let credentials: Credentials
    private let deviceID: String
    private let client: HTTPClient
    private let session: Session

    /// - Parameters:
    ///   - origin: such as `http://127.0.0.1:8080`; no path.
    ///   - client: makes the connections; they are shared and kept alive.
    /// - Returns: nil when the origin is not an http or https address, or has a path.
    public init?(
        origin: String, credentials: Credentials, deviceID: String, client: HTTPClient = .shared
    ) {
        guard let url = URL(string: origin), let scheme = url.scheme, url.host != nil,
            ["http", "https"].contains(scheme), ["", "/"].contains(url.path), url.query == nil
        else { return nil }
        self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        self.credentials = credentials
        self.deviceID = deviceID
        self.client = client
        session = Session(webAuthToken: credentials.webAuthToken)
    }

    public func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let body = E.isReadWithoutBody ? nil : wireBytes(of: request)
        let used = try await token(after: nil)
        do {
            return try await ask(E.self, body, target, token: used, timeoutSeconds)
        } catch let failure as ServiceFailure
            where failure.error.code == .authenticationRequired
            && credentials.developmentUser != nil
        {
            let renewed = try await token(after: used)
            return try await ask(E.self, body, target, token: renewed, timeoutSeconds)
        }
    }

    public func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        // Another service may give a whole address; ours may give a path.
        let url = webcourierURL.hasPrefix("/") ? origin + webcourierURL : webcourierURL
        let answer = try await exchange(.GET, url, nil, timeoutSeconds)
        guard answer.status == 200 else { throw refusal(answer) }
        return try answer.read { try NotificationPayload.read(from: $0) }
    }

    // MARK: Asking

    private func ask<E: Endpoint>(
        _ endpoint: E.Type, _ body: [UInt8]?, _ target: RequestTarget, token: String?,
        _ timeoutSeconds: Double
    ) async throws -> E.Answer {
        let url = address(E.self, target, token)
        let answer = try await exchange(body == nil ? .GET : .POST, url, body, timeoutSeconds)
        if let next = answer.webAuthToken, token != nil { await session.adopt(next, after: token) }
        guard answer.status == 200 else { throw refusal(answer) }
        return try answer.read { try readWire(E.Answer.self, from: $0) }
    }

    private func address<E: Endpoint>(
        _ endpoint: E.Type, _ target: RequestTarget, _ token: String?
    ) -> String {
        let container = target.container
        var path =
            (E.isInDatabase ? "/database/1/" : "/device/1/") + Self.escaped(container.container)
            + "/" + container.environment.rawValue
        if E.isInDatabase {
            path += "/" + (target.scope ?? .public).pathSegment
        }
        path += "/" + E.path + "?ckAPIToken=" + Self.escaped(credentials.apiToken)
        if let token { path += "&ckWebAuthToken=" + Self.escaped(token) }
        return origin + path + "&clientId=" + Self.escaped(deviceID) + "&stratusExtensions=1"
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private static func escaped(_ text: String) -> String {
        // Nil only for text that is no Unicode, which a String cannot be.
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private func refusal(_ answer: RawAnswer) -> any Error {
        do {
            let body = try answer.read { try readWire(ErrorBody.self, from: $0) }
            return ServiceFailure(body.error, uuid: body.uuid, records: body.records)
        } catch {
            return TransportError(
                .answerUnreadable, "The answer is not the service's; check its address.",
                httpStatus: answer.status, cause: error)
        }
    }

    // MARK: Signing in

    /// The token to show; nil for nobody. Signs in when there is none, or when the service refused the
    /// one given.
    private func token(after refused: String?) async throws -> String? {
        guard let user = credentials.developmentUser else { return await session.webAuthToken }
        return try await session.token(after: refused) { [self] in
            let body = wireBytes(of: DevSignIn.Request(user: user))
            let answer = try await exchange(
                .POST, origin + "/dev/sign-in", body, Self.signInSeconds)
            guard answer.status == 200 else { throw refusal(answer) }
            return try answer.read { try readWire(DevSignIn.Answer.self, from: $0) }.webAuthToken
        }
    }

    private actor Session {
        private(set) var webAuthToken: String?
        private var signingIn: Task<String, any Error>?

        init(webAuthToken: String?) {
            self.webAuthToken = webAuthToken
        }

        /// Takes a rotated token, unless somebody signed in anew meanwhile.
        func adopt(_ next: String, after used: String?) {
            if webAuthToken == used { webAuthToken = next }
        }

        /// One sign-in at a time, whoever asks.
        func token(
            after refused: String?, signIn: @escaping @Sendable () async throws -> String
        ) async throws -> String {
            if let webAuthToken, webAuthToken != refused { return webAuthToken }
            let task = signingIn ?? Task { try await signIn() }
            signingIn = task
            defer { signingIn = nil }
            let token = try await task.value
            webAuthToken = token
            return token
        }
    }
}

/// An answer before it is understood.
private struct RawAnswer {
    var status: Int
    var webAuthToken: String?
    var body: ByteBuffer

    func read<Value>(_ decode: (UnsafeRawBufferPointer) throws -> Value) throws -> Value {
        do {
            return try body.withUnsafeReadableBytes(decode)
        } catch let error as WireError {
            throw TransportError(
                .answerUnreadable, "The answer is not in the protocol's form.", httpStatus: status,
                cause: error)
        }
    }
}

extension HTTPTransport {
    private func exchange(
        _ method: HTTPMethod, _ url: String, _ body: [UInt8]?, _ timeoutSeconds: Double
    ) async throws -> RawAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if let body {
            // CloudKit JS sends JSON as text, which keeps browsers from asking first.
            request.headers.add(name: "Content-Type", value: "text/plain")
            request.body = .bytes(body)
        }
        do {
            let response = try await client.execute(
                request, timeout: .milliseconds(Int64(timeoutSeconds * 1_000)))
            let collected = try await response.body.collect(upTo: Self.maximumAnswerBytes)
            return RawAnswer(
                status: Int(response.status.code),
                webAuthToken: response.headers.first(name: "X-Apple-CloudKit-Web-Auth-Token")
                    ?? response.headers.first(name: "X-Apple-CloudKit-Session"),
                body: collected)
        } catch {
            throw Self.translated(error)
        }
    }

    /// The one place where the HTTP client's errors become ours.
    private static func translated(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError: return error
        case let error as HTTPClientError where error == .cancelled: return CancellationError()
        case let error as HTTPClientError
        where [.deadlineExceeded, .readTimeout, .writeTimeout].contains(error):
            return TransportError(
                .timedOut, "The answer did not come in time; try again.", cause: error)
        case let error as HTTPClientError
        where [.connectTimeout, .getConnectionFromPoolTimeout].contains(error):
            return TransportError(
                .noRoute, "The service cannot be reached; try again.", cause: error)
        case is NIOConnectionError:
            return TransportError(
                .refused, "Nobody listens at the service's address.", cause: error)
        case is NIOTooManyBytesError:
            return TransportError(
                .answerUnreadable, "The answer is too large; ask for fewer records.", cause: error)
        default:
            return TransportError(
                .answerLost, "The connection was lost before the answer came.", cause: error)
        }
    }
}
