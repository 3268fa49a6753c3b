import Foundation
import StratusRecords
import StratusWire

/// Placeholder until wire coding lands
public final class HTTPTransport: Transport {
    public struct Credentials: Sendable {
        public var apiToken: String
        public var webAuthToken: String?
        public var developmentUser: String?
        var namesUser: Bool { webAuthToken != nil || developmentUser != nil }
    }
    public init?(origin: String, credentials: Credentials, deviceID: String) { nil }
    public func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer { throw TransportError(.notConfigured, "") }
    public func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? { nil }
}
