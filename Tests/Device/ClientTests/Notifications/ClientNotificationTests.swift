import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Synchronization
import Testing

@Suite struct ClientNotificationTests {
    private func userInfo(_ key: String, _ detail: [String: Any]) -> [AnyHashable: Any] {
        [
            "aps": ["alert": ["body": "New hut"], "badge": 1, "sound": "default"],
            "ck": [
                "ce": 2, "cid": "iCloud.x", "ckuserid": "_ida", "nid": "n-1", key: detail,
            ] as [String: Any],
        ]
    }

    @Test func queryNotificationIsDecoded() throws {
        let notification = CKNotification(
            fromRemoteNotificationDictionary: userInfo(
                "qry",
                ["sid": "s", "rid": "a", "fo": 3, "dbs": 2, "zid": "Trips", "af": ["name": "x"]]))
        let query = try #require(notification as? CKQueryNotification)
        #expect(query.notificationType == .query && query.queryNotificationReason == .recordDeleted)
        #expect(query.recordID == CKRecord.ID(recordName: "a", zoneID: trips))
        #expect(query.recordFields?["name"] as? String == "x")
        #expect(query.databaseScope == .private && query.subscriptionID == "s")
        #expect(query.containerIdentifier == "iCloud.x" && query.alertBody == "New hut")
        #expect(query.badge == 1 && query.soundName == "default" && !query.isPruned)
        #expect(query.subscriptionOwnerUserRecordID?.recordName == "_ida")
        #expect(query.notificationID != nil)
    }

    @Test func zoneAndDatabaseNotificationsAreDecoded() throws {
        let zone = try #require(
            CKRecordZoneNotification(
                fromRemoteNotificationDictionary: userInfo(
                    "fet", ["sid": "s", "zid": "Trips", "zoid": "_bo", "dbs": 3])))
        #expect(zone.recordZoneID == CKRecordZone.ID(zoneName: "Trips", ownerName: "_bo"))
        let info = userInfo("met", ["sid": "s", "dbs": 3])
        let database = CKNotification(fromRemoteNotificationDictionary: info)
        #expect((database as? CKDatabaseNotification)?.databaseScope == .shared)
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: info) == nil)
    }

    @Test func foreignUserInfoGivesNoNotification() {
        #expect(CKNotification(fromRemoteNotificationDictionary: [:]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["aps": ["badge": 1]]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": "text"]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": ["cid": "x"]]) == nil)
    }

    private func payload(_ cause: NotificationPayload.Cause) -> NotificationPayload {
        NotificationPayload(
            containerIdentifier: "iCloud.x", notificationID: "n", userRecordName: "_ida",
            subscriptionID: "s", scope: .private, cause: cause,
            notificationInfo: .init(alertBody: "hello", shouldSendContentAvailable: true))
    }

    private static func registering(_ request: any Sendable) -> any Sendable {
        guard request is TokensCreate.Request else { return EmptyBody() }
        return TokensCreate.Answer(
            apnsEnvironment: "development", apnsToken: "dG9r", webcourierURL: "/courier")
    }

    @Test(arguments: [0, 1, 2])
    func polledPayloadBecomesNotification(_ kind: Int) async throws {
        let cause: NotificationPayload.Cause =
            switch kind {
            case 0: .database
            case 1: .zone(ZoneID(name: "Trips", ownerName: "_ida"))
            default:
                .query(
                    recordName: "a", reason: .recordCreated,
                    zoneID: ZoneID(name: "Trips", ownerName: "_ida"),
                    additionalFields: [Field(name: "beds", value: .int64(4))])
            }
        let (notices, feed) = AsyncStream.makeStream(of: NotificationPayload.self)
        feed.yield(payload(cause))
        let transport = ScriptedTransport(notices: notices) { request, _ in
            Self.registering(request)
        }
        let connection = CloudConnection(transport: transport, hasAccount: true, deviceID: "phone")
        var events = connection.remoteNotifications(container: "iCloud.x").makeAsyncIterator()
        guard case .listening = await events.next(),
            case .notification(let hint) = await events.next()
        else {
            Issue.record("Neither listening nor a notification")
            return
        }
        let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
        #expect(notification?.subscriptionID == "s" && notification?.alertBody == "hello")
        switch kind {
        case 0: #expect(notification is CKDatabaseNotification)
        case 1: #expect((notification as? CKRecordZoneNotification)?.recordZoneID == trips)
        default:
            let query = notification as? CKQueryNotification
            #expect(query?.recordID?.recordName == "a")
            #expect(query?.recordFields?["beds"] as? NSNumber == 4)
        }
        let sent = try #require(transport.requests(TokensCreate.Request.self).first)
        #expect(sent.clientID == "phone" && sent.apnsEnvironment == "development")
        #expect(transport.requests(TokensRegister.Request.self).first?.apnsToken == "dG9r")
    }

    @Test func interruptedListenerReportsClosedChannel() async throws {
        let polls = Mutex(0)
        let transport = ScriptedTransport(notices: AsyncStream { $0.finish() }) { request, _ in
            Self.registering(request)
        } failingPoll: {
            let poll = polls.withLock { polls in
                polls += 1
                return polls
            }
            if poll == 1 { throw TransportError(.answerLost, "The service is gone.") }
        }
        let connection = container(slept: Log(), transport).connection
        var events = connection.notificationChannel(container: "iCloud.x").makeAsyncIterator()
        guard case .opened = await events.next(), case .closed = await events.next(),
            case .opened = await events.next()
        else {
            Issue.record("Not opened, closed and opened again")
            return
        }
        // Apps are notified only of the openings.
        polls.withLock { $0 = 0 }
        var openings = connection.remoteNotifications(container: "iCloud.y").makeAsyncIterator()
        guard case .listening = await openings.next(), case .listening = await openings.next()
        else {
            Issue.record("Not listening twice")
            return
        }
    }

    /// A process may have several connections, each with its own account.
    @Test(.timeLimit(.minutes(20)))
    func accountChangeOfAnotherConnectionLeavesChannelOpen() async {
        let (notices, feed) = AsyncStream.makeStream(of: NotificationPayload.self)
        let transport = ScriptedTransport(notices: notices) { request, _ in
            Self.registering(request)
        }
        let connection: CloudConnection = container(transport).connection
        let other: CloudConnection = container(ScriptedTransport { _, _ in EmptyBody() }).connection
        var events = connection.notificationChannel(container: "iCloud.x").makeAsyncIterator()
        guard case .opened = await events.next() else {
            Issue.record("Not opened")
            return
        }
        for _ in 0..<100 {
            other.accountChanged(hasAccount: true)
            feed.yield(payload(.database))
            guard case .notification = await events.next() else {
                Issue.record("Closed by the account change of another connection")
                return
            }
        }
        connection.accountChanged(hasAccount: true)
        while let event = await events.next() {
            if case .opened = event { break }
        }
        #expect(transport.requests(TokensCreate.Request.self).count == 2)
    }

    @Test func listenerRegistersAgainAfterFailure() async {
        let count = Mutex(0)
        let slept = Log()
        let transport = ScriptedTransport(notices: AsyncStream { $0.finish() }) { request, _ in
            let attempt = count.withLock { count in
                count += 1
                return count
            }
            if attempt == 1 { throw TransportError(.refused, "down") }
            return Self.registering(request)
        }
        let connection: CloudConnection = container(slept: slept, transport).connection
        for await event in connection.remoteNotifications(container: "iCloud.x") {
            if case .listening = event { break }
        }
        #expect(slept.all.count == 1)
    }

    /// A service that does not hold polls open, and reports when its transport is released.
    private final class ImpatientTransport: Transport {
        private let onDeinit: @Sendable () -> Void

        init(onDeinit: @escaping @Sendable () -> Void) {
            self.onDeinit = onDeinit
        }

        deinit { onDeinit() }

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            guard let answer = ClientNotificationTests.registering(request) as? E.Answer else {
                throw TransportError(.answerUnreadable, "The test answers something else.")
            }
            return answer
        }

        func nextNotification(
            at webcourierURL: String, timeoutSeconds: Double
        ) async throws -> NotificationPayload? { nil }
    }

    /// A cancelled poll returns nil without an error; the listener must not poll forever.
    @Test(.timeLimit(.minutes(20))) func releasedListenerStopsPolling() async {
        let (gone, goes) = AsyncStream.makeStream(of: Void.self)
        do {
            let connection = CloudConnection(
                transport: ImpatientTransport { goes.yield() }, hasAccount: true, deviceID: "phone",
                world: .init(sleep: { _ in await Task.yield() }))
            for await _ in connection.remoteNotifications(container: "iCloud.x") { break }
        }
        // Only the listener still holds the transport, and releases it at its end.
        for await _ in gone { break }
    }

    @Test func emptyPollsWaitBetweenRequests() async {
        let (waited, waits) = AsyncStream.makeStream(of: Double.self)
        let connection = CloudConnection(
            transport: ImpatientTransport {}, hasAccount: true, deviceID: "phone",
            world: .init(
                sleep: { seconds in
                    try Task.checkCancellation()
                    waits.yield(seconds)
                    await Task.yield()
                }))
        let listener = Task {
            for await _ in connection.remoteNotifications(container: "iCloud.x") {}
        }
        for await seconds in waited {
            #expect(seconds == 1)
            break
        }
        listener.cancel()
    }

    @Test func reportedAccountChangePostsNotification() async {
        let connection = container(ScriptedTransport { _, _ in EmptyBody() }).connection
        let log = Log()
        let observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: connection, queue: nil
        ) { _ in log.add("changed") }
        connection.accountChanged(hasAccount: false)
        NotificationCenter.default.removeObserver(observer)
        #expect(log.all == ["changed"] && !connection.hasAccount)
    }
}
