import StratusRecords
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// The long poll.
@Suite struct CourierTests {
    private let time = Time()
    private let courier: Courier

    private final class Time: Sendable {
        let milliseconds = Mutex<Int64>(0)
    }

    init() {
        var limits = Limits()
        limits.notificationsPerDevice = 10
        limits.waitingDevices = 3
        let time = time
        courier = Courier(
            limits: limits,
            world: .init(nowMilliseconds: { time.milliseconds.withLock { $0 } }))
    }

    private func notification(_ name: String) -> NotificationPayload {
        NotificationPayload(
            containerIdentifier: "c", notificationID: name, userRecordName: "_u",
            subscriptionID: "s", scope: .private,
            cause: .query(
                recordName: name, reason: .recordCreated, zoneID: ZoneID(), additionalFields: []),
            notificationInfo: nil)
    }

    private func poll(
        _ timeoutSeconds: Double = 600
    ) -> Task<NotificationPayload?, any Error> {
        Task { try await courier.next(pushToken: "t", timeoutSeconds: timeoutSeconds) }
    }

    private func untilWaiting(_ count: Int) async {
        while await courier.waiting != count { await Task.yield() }
    }

    @Test func waitingPollReceivesNotification() async throws {
        let waiting = poll()
        await untilWaiting(1)
        await courier.deliver(notification("a"), to: "t")
        #expect(try await waiting.value?.notificationID == "a")
        #expect(try await courier.next(pushToken: "t", timeoutSeconds: 0) == nil)
    }

    @Test func queuedNotificationsArriveInOrder() async throws {
        await courier.deliver(notification("a"), to: "t")
        await courier.deliver(notification("b"), to: "t")
        await courier.deliver(notification("c"), to: "other")
        #expect(try await poll().value?.notificationID == "a")
        #expect(try await poll().value?.notificationID == "b")
    }

    @Test func pollEndsAfterItsTimeout() async throws {
        #expect(try await poll(0.001).value == nil)
        #expect(await courier.waiting == 0)
    }

    @Test func cancelledPollTakesNoNotification() async throws {
        let waiting = poll()
        await untilWaiting(1)
        waiting.cancel()
        #expect(try await waiting.value == nil)
        await untilWaiting(0)
        await courier.deliver(notification("a"), to: "t")
        #expect(try await poll().value?.notificationID == "a")
    }

    /// Whether the notification or the cancellation comes first, the notification is delivered exactly once.
    @Test func cancellationDuringDeliveryLosesNoNotification() async throws {
        for round in 0..<200 {
            let waiting = poll()
            if round % 2 == 0 { await untilWaiting(1) }
            async let delivery: Void = courier.deliver(notification("n\(round)"), to: "t")
            waiting.cancel()
            await delivery
            let first = try await waiting.value
            if first == nil { await untilWaiting(0) }
            let taken = try await courier.next(pushToken: "t", timeoutSeconds: 0)
            #expect([first, taken].compactMap { $0?.notificationID } == ["n\(round)"])
        }
    }

    /// Of two programs that poll with one token, neither ends the other's poll, since they would keep ending each
    /// other's polls forever.
    @Test func newerOfTwoPollsReceivesFirst() async throws {
        let older = poll()
        await untilWaiting(1)
        let newer = poll()
        await untilWaiting(2)
        await courier.deliver(notification("a"), to: "t")
        await courier.deliver(notification("b"), to: "t")
        #expect(try await newer.value?.notificationID == "a")
        #expect(try await older.value?.notificationID == "b")
    }

    @Test func pollLimitEndsOldestPollOrRefuses() async throws {
        var polls: [Task<NotificationPayload?, any Error>] = []
        for count in 1...4 {
            polls.append(poll())
            await untilWaiting(count)
        }
        let refusal = ServiceError.tooManyPolls(limit: 4)
        await #expect(throws: refusal) { try await poll().value }
        #expect(refusal.frameworkCode == .requestRateLimited)
        time.milliseconds.withLock { $0 += 5_000 }
        polls.append(poll())
        #expect(try await polls[0].value == nil)
        await untilWaiting(4)
        await courier.forget(pushToken: "t")
        for poll in polls { #expect(try await poll.value == nil) }
    }

    @Test func queueOfUnreadNotificationsShrinks() async throws {
        for name in ["a", "b", "c", "d", "e", "f"] {
            await courier.deliver(notification(name), to: "t")
        }
        for _ in 0..<4 {
            let taken = try #require(try await poll().value)
            await courier.giveBack(taken, to: "t")
        }
        await courier.deliver(notification("g"), to: "t")
        #expect(try await poll().value?.notificationID == "g")
        #expect(try await poll(0).value == nil)
    }

    @Test func rememberedDevicesAreLimited() async throws {
        for token in ["a", "b", "c", "d"] { await courier.deliver(notification(token), to: token) }
        #expect(await courier.remembered == 3)
        time.milliseconds.withLock { $0 += 600_000 }
        await courier.deliver(notification("d"), to: "d")
        #expect(await courier.remembered == 1)
    }

    /// Waiting polls block no threads, and leave nothing behind when they end.
    @Test func thousandPollsWaitConcurrently() async throws {
        let settings = ServiceSettings(isForDevelopment: true)
        let courier = Courier(limits: settings.limits, world: settings.world)
        let payload = notification("n")
        try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    try await courier.next(pushToken: "t\(number)", timeoutSeconds: 600)?
                        .notificationID
                }
            }
            while await courier.waiting < 1_000 { await Task.yield() }
            for number in 0..<1_000 { await courier.deliver(payload, to: "t\(number)") }
            var received = 0
            for try await identifier in group where identifier == "n" { received += 1 }
            #expect(received == 1_000)
        }
        #expect(await courier.waiting == 0)
    }

    @Test func returnedNotificationArrivesFirst() async throws {
        await courier.deliver(notification("a"), to: "t")
        await courier.deliver(notification("b"), to: "t")
        guard let first = try await poll().value else {
            Issue.record("Unexpected notification.")
            return
        }
        await courier.giveBack(first, to: "t")
        #expect(try await poll().value?.notificationID == "a")
        #expect(try await poll().value?.notificationID == "b")
    }

    @Test func forgettingDeviceEndsItsPoll() async throws {
        let waiting = poll()
        await untilWaiting(1)
        await courier.forget(pushToken: "t")
        #expect(try await waiting.value == nil)
    }
}
