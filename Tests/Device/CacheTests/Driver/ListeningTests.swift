import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// A cache has one listener at the service, however many databases it keeps.
@Suite struct ListeningTests {
    @Test(.timeLimit(.minutes(20))) func bothDatabasesShareOneListener() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let registered = Mutex(0)
        phone.transport.tap { request, answer in
            if request is TokensRegister.Request { registered.withLock { $0 += 1 } }
            return answer
        }
        try await tablet.cache.sync()
        try await phone.cache.sync()
        var changes = phone.cache.changes().makeAsyncIterator()
        await phone.cache.start()
        for number in 0..<3 {
            // No timer runs in this test: only a notification can cause the fetch.
            try tablet.save("r\(number)", "hello")
            try await tablet.cache.sync()
            #expect(await changes.next()?.map(\.recordName) == ["r\(number)"])
        }
        #expect(registered.withLock { $0 } == 1)
        #expect(phone.transport.polls.mostOpen == 1)
        let ids = phone.transport.polls.notifications.map(\.notificationID)
        #expect(!ids.isEmpty && Set(ids).count == ids.count, "One arrived twice.")
        await phone.cache.stop()
    }

    /// A service whose notifications the test sends.
    private final class TellingTransport: Transport {
        let notices: AsyncStream<NotificationPayload>

        init(_ notices: AsyncStream<NotificationPayload>) { self.notices = notices }

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            let answer: any Sendable =
                request is TokensCreate.Request
                ? TokensCreate.Answer(
                    apnsEnvironment: "development", apnsToken: "dG9r", webcourierURL: "/courier")
                : EmptyBody()
            guard let answer = answer as? E.Answer else {
                throw TransportError(.answerUnreadable, "The test answers something else.")
            }
            return answer
        }

        func nextNotification(
            at webcourierURL: String, timeoutSeconds: Double
        ) async throws -> NotificationPayload? {
            for await notice in notices { return notice }
            return nil
        }
    }

    @Test(.timeLimit(.minutes(20))) func hintIsDeliveredToItsDatabaseOnly() async throws {
        let (notices, feed) = AsyncStream.makeStream(of: NotificationPayload.self)
        let container = CKContainer(
            identifier: CloudDevice.container,
            connection: CloudConnection(
                transport: TellingTransport(notices), hasAccount: true, deviceID: "phone"))
        var own = CloudKitDatabase(database: container.privateCloudDatabase).hints()
            .makeAsyncIterator()
        var shared = CloudKitDatabase(database: container.sharedCloudDatabase).hints()
            .makeAsyncIterator()
        #expect(await own.next() == .opened)
        #expect(await shared.next() == .opened)
        let trips = ZoneID(name: "Trips", ownerName: "_bob")
        for (scope, zone) in [
            (DatabaseScope.private, ZoneID.list), (.shared, trips), (.private, .other),
        ] {
            feed.yield(
                NotificationPayload(
                    containerIdentifier: CloudDevice.container, notificationID: zone.name,
                    userRecordName: "_alice", subscriptionID: "s", scope: scope,
                    cause: .zone(zone), notificationInfo: nil))
        }
        #expect(await shared.next() == .hint(ChangeHint(zone: trips)))
        #expect(await own.next() == .hint(ChangeHint(zone: .list)))
        #expect(await own.next() == .hint(ChangeHint(zone: .other)))
    }
}
