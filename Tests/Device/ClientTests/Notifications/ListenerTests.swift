import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

/// Streams of one container on one connection share a listener.
@Suite struct ListenerTests {
    private static func registering(_ request: any Sendable) -> any Sendable {
        guard request is TokensCreate.Request else { return EmptyBody() }
        return TokensCreate.Answer(
            apnsEnvironment: "development", apnsToken: "dG9r", webcourierURL: "/courier")
    }

    private func payload(_ subscriptionID: String) -> NotificationPayload {
        NotificationPayload(
            containerIdentifier: "iCloud.x", notificationID: "n", userRecordName: "_ida",
            subscriptionID: subscriptionID, scope: .private, cause: .database,
            notificationInfo: nil)
    }

    private func next(
        _ events: inout AsyncStream<RemoteNotificationEvent>.Iterator
    ) async -> String? {
        switch await events.next() {
        case .listening: "listening"
        case .notification(let notification): notification.subscriptionID
        case nil: nil
        }
    }

    @Test(.timeLimit(.minutes(20))) func streamsOfOneContainerShareRegistration() async throws {
        let (notices, feed) = AsyncStream.makeStream(of: NotificationPayload.self)
        let transport = ScriptedTransport(notices: notices) { request, _ in
            Self.registering(request)
        }
        let connection = container(slept: Log(), transport).connection
        var first = connection.remoteNotifications(container: "iCloud.x").makeAsyncIterator()
        #expect(await next(&first) == "listening")
        feed.yield(payload("before"))
        #expect(await next(&first) == "before")
        // A later stream is notified that the listener is open, and gets no earlier notifications.
        do {
            var second = connection.remoteNotifications(container: "iCloud.x").makeAsyncIterator()
            #expect(await next(&second) == "listening")
            feed.yield(payload("both"))
            #expect(await next(&second) == "both")
            #expect(await next(&first) == "both")
        }
        // The other stream continues.
        feed.yield(payload("one"))
        #expect(await next(&first) == "one")
        #expect(transport.requests(TokensCreate.Request.self).count == 1)
        #expect(transport.requests(TokensRegister.Request.self).count == 1)
    }

    @Test(.timeLimit(.minutes(20))) func listenerAfterLastOneRegistersAgain() async throws {
        let (notices, feed) = AsyncStream.makeStream(of: NotificationPayload.self)
        let transport = ScriptedTransport(notices: notices) { request, _ in
            Self.registering(request)
        }
        let connection = container(slept: Log(), transport).connection
        for _ in 0..<2 {
            for await event in connection.remoteNotifications(container: "iCloud.x") {
                guard case .listening = event else { continue }
                break
            }
        }
        feed.finish()
        #expect(transport.requests(TokensCreate.Request.self).count == 2)
    }
}
