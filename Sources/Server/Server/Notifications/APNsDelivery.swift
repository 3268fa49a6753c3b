import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import StratusRecords
import StratusRuntime
import StratusService
import StratusWire

/// Sends notifications to Apple's push service over HTTP/2.
///
/// One connection to each environment is kept and reused. Each request has a provider token, which is signed again
/// after 40 minutes: the push service wants one that is 20 to 60 minutes old.
///
/// Source: Apple's "Sending notification requests to APNs" and "Handling notification responses from
/// APNs".
package struct APNsDelivery: PushDelivery {
    private let settings: APNsSettings
    private let token: APNsToken
    private let client: HTTPClient

    private let attemptSeconds: Double
    /// The most bytes of an answer that are read: it has a reason and a time.
    private static let answerBytes = 16_384

    /// - Parameters:
    ///   - client: The HTTP client for the connections; the caller must shut down one of its own.
    ///   - attemptSeconds: How long one attempt may take, including the connection.
    /// - Throws: ``APNsKeyError`` when the key cannot be read.
    package init(
        _ settings: APNsSettings, client: HTTPClient = .shared, attemptSeconds: Double = 30,
        world: World = .live
    ) throws {
        self.settings = settings
        self.client = client
        self.attemptSeconds = attemptSeconds
        token = try APNsToken(settings, world: world)
    }

    package func send(_ push: Push) async -> PushOutcome {
        do {
            let text = try await token.text()
            let response = try await client.execute(
                request(push, token: text), timeout: .milliseconds(Int64(attemptSeconds * 1_000)))
            let status = Int(response.status.code)
            if status == 200 { return .delivered }
            let body = try await response.body.collect(upTo: Self.answerBytes)
            // A body that is not JSON has no reason; the status alone decides then.
            let answer = try? body.withUnsafeReadableBytes { try readWire(Refusal.self, from: $0) }
            let seconds = response.headers.first(name: "Retry-After").flatMap(Double.init)
            let outcome = Self.outcome(status, answer, retryAfterSeconds: seconds)
            if answer?.reason == "ExpiredProviderToken" { await token.expire(text) }
            return outcome
        } catch {
            // Not reached, or not understood: ``PushQueue`` decides whether to try again, and logs when it gives up.
            return .tryLater(seconds: nil, reason: "\(error)")
        }
    }

    private func request(_ push: Push, token: String) -> HTTPClientRequest {
        let origin = settings.origin(for: push.environment)
        var request = HTTPClientRequest(url: "\(origin)/3/device/\(push.deviceToken)")
        request.method = .POST
        request.headers = [
            "authorization": "bearer \(token)",
            "apns-topic": settings.topic(for: push.containerIdentifier),
            "apns-push-type": push.kind.rawValue,
            "apns-priority": String(push.priority),
            "apns-collapse-id": push.collapseIdentifier,
            "apns-expiration": String(push.expirationSeconds),
        ]
        request.body = .bytes(ByteBuffer(bytes: push.payload))
        return request
    }

    /// The meaning of an answer other than 200.
    private static func outcome(
        _ status: Int, _ answer: Refusal?, retryAfterSeconds: Double?
    ) -> PushOutcome {
        let reason = answer?.reason ?? "\(status)"
        switch (status, reason) {
        case (410, _): return .deviceIsGone(sinceMilliseconds: answer?.timestamp)
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"):
            return .deviceIsGone(sinceMilliseconds: nil)
        case (403, "ExpiredProviderToken"), (429, _), (500..., _):
            return .tryLater(seconds: retryAfterSeconds, reason: reason)
        default: return .refused(reason: reason)
        }
    }

    /// The body of an answer other than 200.
    private struct Refusal: WireReadable {
        var reason: String?
        /// When the token became invalid, in milliseconds since 1970.
        var timestamp: Int64?

        init(wire node: JSONNode) throws(WireError) {
            reason = node["reason"]?.string
            timestamp = node["timestamp"]?.int64
        }
    }
}

/// The address of the push service and the credentials for it.
package struct APNsSettings: Sendable {
    /// The signing key as PEM, as in the file that Apple issues (`AuthKey_….p8`).
    package var privateKey: String
    /// The key's identifier: ten characters.
    package var keyIdentifier: String
    /// The developer team's identifier: ten characters.
    package var teamIdentifier: String
    /// The app's bundle identifier; nil takes each container's name without `iCloud.`.
    package var topic: String?
    /// The push service's address; nil for Apple's.
    package var url: String?

    package init(
        privateKey: String, keyIdentifier: String, teamIdentifier: String, topic: String? = nil,
        url: String? = nil
    ) {
        self.privateKey = privateKey
        self.keyIdentifier = keyIdentifier
        self.teamIdentifier = teamIdentifier
        self.topic = topic
        self.url = url
    }

    func origin(for environment: Push.Environment) -> String {
        if let url { return url }
        switch environment {
        case .development: return "https://api.sandbox.push.apple.com"
        case .production: return "https://api.push.apple.com"
        }
    }

    func topic(for container: String) -> String {
        let prefix = "iCloud."
        return topic
            ?? (container.hasPrefix(prefix) ? String(container.dropFirst(prefix.count)) : container)
    }
}
