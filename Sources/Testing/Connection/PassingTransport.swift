import StratusClient
import StratusRecords
import StratusWire

/// A transport that passes on the requests that a test does not intercept.
package protocol PassingTransport: AccountTransport {
    var inner: any AccountTransport { get }
}

extension PassingTransport {
    package func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try await inner.nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }

    package func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        try await inner.upload(asset, to: url, timeoutSeconds: timeoutSeconds)
    }

    package func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await inner.download(from: url, timeoutSeconds: timeoutSeconds, receive: receive)
    }

    package func changeAccount(webAuthToken: String?) {
        inner.changeAccount(webAuthToken: webAuthToken)
    }

    package func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        try await inner.webAuthToken(
            forAPIToken: apiToken, to: target, timeoutSeconds: timeoutSeconds)
    }
}
