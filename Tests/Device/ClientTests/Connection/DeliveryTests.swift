import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusClient

/// Notifications delivered to an app that reports what it did with them.
@Suite(.timeLimit(.minutes(20))) struct DeliveryTests {
    /// Two devices of a user; the tablet listens with a subscription to the database.
    private struct Scene {
        static let container = "iCloud.org.example.Trails"
        /// The tablet's clock; the service has its own, so that it notifies at once.
        let clock = TestClock()
        let cloud = TestCloud()
        let phone: CKDatabase
        let tablet: CKDatabase
        let connection: CloudConnection
        let reports = Feed<RemoteNotificationReport>()
        let listening = Feed<Bool>()

        init() async throws {
            let link = try await cloud.connect(user: "ida", device: "phone")
            phone = CKContainer(identifier: Self.container, connection: link).privateCloudDatabase
            connection = try await cloud.connect(
                user: "ida", device: "tablet", world: clock.world)
            tablet =
                CKContainer(identifier: Self.container, connection: connection)
                .privateCloudDatabase
            try await phone.save(CKRecordZone(zoneID: trips))
            try await tablet.save(CKDatabaseSubscription(subscriptionID: "all"))
        }

        /// Delivers notifications until the test cancels the returned task. Returns once the service has the listener.
        func deliver(
            limitSeconds: Double = CloudConnection.notificationLimitSeconds,
            _ receive:
                @escaping @Sendable (RemoteNotification) async -> RemoteNotificationResult
        ) async -> Task<Void, Never> {
            let task = Task { [connection, reports, listening] in
                await connection.deliverRemoteNotifications(
                    container: Self.container, limitSeconds: limitSeconds,
                    whenListening: { listening.put(true) }, report: { reports.put($0) }, to: receive
                )
            }
            _ = await listening.next()
            return task
        }

        /// Another device makes a change, and the service sends a notification.
        func change(_ name: String) async throws {
            let id = CKRecord.ID(recordName: name, zoneID: trips)
            try await phone.save(CKRecord(recordType: "Hut", recordID: id))
        }

        @Sendable func fetch() async throws -> Int {
            try await tablet.recordZoneChanges(inZoneWith: trips, since: nil)
                .modificationResultsByID.count
        }
    }

    @Test func notificationIsDeliveredAndResultReported() async throws {
        let scene = try await Scene()
        let kinds = Feed<String>()
        let task = await scene.deliver { hint in
            let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
            kinds.put(notification?.subscriptionID ?? "none")
            // Every failure of the fetch has the same result.
            guard let count = try? await scene.fetch() else { return .failed }
            return count > 0 ? .newData : .noData
        }
        try await scene.change("a")
        let report = try #require(await scene.reports.next())
        #expect(await kinds.next() == "all")
        #expect(report.result == .newData && report.isInTime && report.isTruthful)
        task.cancel()
        await task.value
    }

    @Test(arguments: [RemoteNotificationResult.newData, .noData])
    func wrongFetchResultDelaysNextNotification(
        _ lie: RemoteNotificationResult
    ) async throws {
        let scene = try await Scene()
        let task = await scene.deliver { _ in
            // The fetch finds changes, so that `noData` is untruthful.
            if lie == .noData { _ = try? await scene.fetch() }
            return lie
        }
        try await scene.change("a")
        let report = try #require(await scene.reports.next())
        #expect(report.result == lie && report.isInTime && !report.isTruthful)
        // The next notification waits for a second.
        await scene.clock.waitForSleeper(seconds: 1)
        try await scene.change("b")
        scene.clock.advance(bySeconds: 1)
        #expect(try #require(await scene.reports.next()).isTruthful == false)
        await scene.clock.waitForSleeper(seconds: 2)
        task.cancel()
        await task.value
    }

    @Test func lateNotificationResultIsFailure() async throws {
        let scene = try await Scene()
        let cancelled = Feed<Bool>()
        let task = await scene.deliver { _ in
            // The sleep ends when the delivery is cancelled.
            try? await scene.clock.sleep(seconds: 500)
            cancelled.put(Task.isCancelled)
            return .newData
        }
        try await scene.change("a")
        await scene.clock.waitForSleeper(seconds: 500)
        await scene.clock.waitForSleeper(seconds: 30)
        scene.clock.advance(bySeconds: 30)
        let report = try #require(await scene.reports.next())
        #expect(report.result == .failed && !report.isInTime && report.seconds == 30)
        #expect(await cancelled.next() == true)
        task.cancel()
        await task.value
    }

    @Test func uncalledCompletionHandlerIsFailure() async throws {
        let scene = try await Scene()
        let infos = Feed<Int>()
        let task = Task {
            await scene.connection.deliverRemoteNotifications(
                container: Scene.container, whenListening: { scene.listening.put(true) },
                report: { scene.reports.put($0) },
                didReceiveRemoteNotification: { userInfo, completion in
                    infos.put(userInfo.count)
                    // The second time the app calls the handler, and does so twice.
                    if infos.count > 1 {
                        completion(.failed)
                        completion(.newData)
                    }
                })
        }
        _ = await scene.listening.next()
        try await scene.change("a")
        #expect(await infos.next() == 2)
        await scene.clock.waitForSleeper(seconds: 30)
        scene.clock.advance(bySeconds: 30)
        #expect(try #require(await scene.reports.next()).isInTime == false)
        await scene.clock.waitForSleeper(seconds: 1)
        scene.clock.advance(bySeconds: 1)
        try await scene.change("b")
        let report = try #require(await scene.reports.next())
        #expect(report.result == .failed && report.isInTime && report.isTruthful)
        task.cancel()
        await task.value
    }

    @Test func notificationPauseGrowsAndResets() {
        var budget = NotificationBudget()
        #expect(budget.pauseSeconds == 0)
        var pauses: [Double] = []
        for _ in 0..<8 {
            budget.answered(isGood: false)
            pauses.append(budget.pauseSeconds)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
        budget.answered(isGood: true)
        #expect(budget.pauseSeconds == 0)
    }

    @Test func inboxKeepsNewestNotificationPerSubscription() async {
        let inbox = NotificationInbox()
        func hint(_ subscription: String, _ number: Int) -> RemoteNotification {
            RemoteNotification(
                payload: NotificationPayload(
                    containerIdentifier: "iCloud.x", notificationID: "\(number)",
                    userRecordName: "_ida", subscriptionID: subscription, scope: .private,
                    cause: .database, notificationInfo: nil))
        }
        for (subscription, number) in [("a", 1), ("b", 2), ("a", 3)] {
            inbox.put(.notification(hint(subscription, number)))
        }
        inbox.put(.listening)
        guard case .listening = await inbox.next(),
            case .notification(let first) = await inbox.next(),
            case .notification(let second) = await inbox.next()
        else {
            Issue.record("Not what was put in.")
            return
        }
        #expect(first.subscriptionID == "b" && second.payload.notificationID == "3")
        for number in 0..<150 { inbox.put(.notification(hint("s\(number)", number))) }
        guard case .notification(let oldest) = await inbox.next() else { return }
        #expect(oldest.subscriptionID == "s50")
        inbox.close()
        #expect(await inbox.next() == nil)
    }
}

/// Passes values from a callback to a test.
private final class Feed<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation
    private let putCount = Mutex(0)

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Value.self)
    }

    var count: Int { putCount.withLock { $0 } }

    func put(_ value: Value) {
        putCount.withLock { $0 += 1 }
        continuation.yield(value)
    }

    func next() async -> Value? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }
}
