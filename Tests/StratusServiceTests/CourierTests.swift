import StratusRecords
import StratusWire
import Testing

@testable import StratusService

/// The long poll.
@Suite struct CourierTests {
    private let courier = Courier(
        capacityPerDevice: 10, sleep: { try await Task.sleep(for: .seconds($0)) })

    private func news(_ name: String) -> NotificationPayload {
        NotificationPayload(
            containerIdentifier: "c", notificationID: name, userRecordName: "_u",
            subscriptionID: "s", scope: .private,
            cause: .query(
                recordName: name, reason: .recordCreated, zoneID: ZoneID(), additionalFields: []),
            notificationInfo: nil)
    }

    private func poll(_ timeoutSeconds: Double = 600) -> Task<NotificationPayload?, Never> {
        Task { await courier.next(pushToken: "t", timeoutSeconds: timeoutSeconds) }
    }

    private func untilWaiting(_ count: Int) async {
        while await courier.waiting != count { await Task.yield() }
    }

    @Test func aWaitingPollIsWoken() async {
        let waiting = poll()
        await untilWaiting(1)
        await courier.deliver(news("a"), to: "t")
        #expect(await waiting.value?.notificationID == "a")
        #expect(await courier.next(pushToken: "t", timeoutSeconds: 0) == nil)
    }

    @Test func whatWaitsIsHandedOutInOrder() async {
        await courier.deliver(news("a"), to: "t")
        await courier.deliver(news("b"), to: "t")
        await courier.deliver(news("c"), to: "other")
        #expect(await poll().value?.notificationID == "a")
        #expect(await poll().value?.notificationID == "b")
    }

    @Test func aPollEndsWithItsTime() async {
        #expect(await poll(0.001).value == nil)
        #expect(await courier.waiting == 0)
    }

    @Test func aCancelledPollTakesNothing() async {
        let waiting = poll()
        await untilWaiting(1)
        waiting.cancel()
        #expect(await waiting.value == nil)
        await untilWaiting(0)
        await courier.deliver(news("a"), to: "t")
        #expect(await poll().value?.notificationID == "a")
    }

    /// Whichever comes first, the notification or the cancellation: it is handed out once in the end.
    @Test func aRaceBetweenDeliveryAndCancellationLosesNothing() async {
        for round in 0..<200 {
            let waiting = poll()
            if round % 2 == 0 { await untilWaiting(1) }
            async let delivery: Void = courier.deliver(news("n\(round)"), to: "t")
            waiting.cancel()
            await delivery
            let first = await waiting.value
            if first == nil { await untilWaiting(0) }
            let taken = await courier.next(pushToken: "t", timeoutSeconds: 0)
            #expect([first, taken].compactMap { $0?.notificationID } == ["n\(round)"])
        }
    }

    @Test func aNewerPollEndsTheOlder() async {
        let older = poll()
        await untilWaiting(1)
        let newer = poll()
        #expect(await older.value == nil)
        await untilWaiting(1)
        await courier.deliver(news("a"), to: "t")
        #expect(await newer.value?.notificationID == "a")
    }

    @Test func whatIsGivenBackComesFirst() async {
        await courier.deliver(news("a"), to: "t")
        await courier.deliver(news("b"), to: "t")
        guard let first = await poll().value else {
            Issue.record("There was a notification.")
            return
        }
        await courier.giveBack(first, to: "t")
        #expect(await poll().value?.notificationID == "a")
        #expect(await poll().value?.notificationID == "b")
    }

    @Test func aForgottenDevicesPollEnds() async {
        let waiting = poll()
        await untilWaiting(1)
        await courier.forget(pushToken: "t")
        #expect(await waiting.value == nil)
    }
}
