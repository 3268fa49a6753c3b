import StratusClient
import StratusWire

/// A way to the service that hands on what a test has no part in.
protocol PassingTransport: AccountTransport {
    var inner: any AccountTransport { get }
}

extension PassingTransport {
    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try await inner.nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }

    func changeAccount(webAuthToken: String?) { inner.changeAccount(webAuthToken: webAuthToken) }

    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        try await inner.webAuthToken(
            forAPIToken: apiToken, to: target, timeoutSeconds: timeoutSeconds)
    }
}
