import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The cost of a day for a device that syncs: the number of requests, and the bytes of their bodies and answers.
@Suite struct IdleDayTests {
    private static let daySeconds = 86_400.0
    private static let zone = CKRecordZone.ID(zoneName: "List")

    @Test(arguments: [(changes: 0, requests: 220, bytes: 60_000), (100, 450, 230_000)])
    func dayStaysWithinItsRequestBudget(changes: Int, requests: Int, bytes: Int) async throws {
        let listening = try await Self.cost(changes: changes)
        print(
            "A day with \(changes) changes: \(listening.requests.count) requests of "
                + "\(listening.bytes) bytes, \(listening.waits) long polls.")
        #expect(listening.requests.count <= requests)
        #expect(listening.bytes <= bytes)
        // One answer in 90 s, and one for each change.
        #expect(listening.waits <= 1_000 + changes)
    }

    /// Without notifications, even if nothing changes.
    @Test func hourOfPollingCostsMoreThanADay() async throws {
        let polling = try await Self.cost(seconds: 3_600, changes: 0, isPolling: true)
        print(
            "An hour of polling every 15 s: \(polling.requests.count) requests of "
                + "\(polling.bytes) bytes, \(polling.waits) long polls.")
        #expect(polling.waits == 0)
        #expect(polling.requests.count >= 480)
        #expect(polling.bytes > 60_000)
    }

    /// A whole day of it, to be compared with `dayStaysWithinItsRequestBudget`; `STRATUS_LONG=1` runs it.
    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["STRATUS_LONG"] != nil),
        arguments: [0, 100])
    func dayOfPollingSendsThousandsOfRequests(changes: Int) async throws {
        let polling = try await Self.cost(changes: changes, isPolling: true)
        print(
            "A day of polling every 15 s with \(changes) changes: \(polling.requests.count) requests of "
                + "\(polling.bytes) bytes, \(polling.waits) long polls.")
        #expect(polling.waits == 0)
        #expect(polling.requests.count >= 11_000)
        #expect(polling.bytes > 1_400_000)
    }

    /// Mission F1: while the service sends notifications, no changes are fetched by the clock.
    @Test func listeningDeviceDoesNotPoll() async throws {
        let requests = try await Self.cost(changes: 0).requests
        #expect(Set(requests) == [SubscriptionsLookup.path])
    }

    /// A device's requests.
    ///
    /// - Parameter isPolling: whether it fetches every 15 seconds instead of listening.
    private static func cost(
        seconds: Double = daySeconds, changes: Int, isPolling: Bool = false
    ) async throws -> Cost {
        let world = SeededWorld(seed: 7)
        return try await world.run {
            let cloud = TestCloud(seeded: world)
            var settings = SyncSettings()
            if isPolling {
                settings.listensForNotifications = false
                settings.savesSubscription = false
                settings.fetchIntervalSeconds = 15
            }
            let (phone, counted) = try await Self.cache(cloud, world, "phone", settings)
            let (tablet, _) = try await Self.cache(cloud, world, "tablet")
            let item = CKRecord(
                recordType: "Item",
                recordID: CKRecord.ID(recordName: "milk", zoneID: Self.zone))
            try await tablet.save(item)
            try await tablet.sync()
            await phone.start()
            try await world.pass(seconds: 600)
            let before = counted.cost
            for number in 0..<max(1, changes) {
                try await world.pass(seconds: seconds / Double(max(1, changes)))
                guard changes > 0 else { continue }
                let item = try #require(try await tablet.record(for: item.recordID))
                item["text"] = "\(number)"
                try await tablet.save(item)
                try await tablet.sync()
            }
            try await world.pass(seconds: 60)
            let text = try await phone.record(for: item.recordID)?["text"] as String?
            #expect(text == (changes == 0 ? nil : "\(changes - 1)"))
            let after = counted.cost
            await phone.stop()
            return Cost(
                requests: Array(after.requests.dropFirst(before.requests.count)),
                bytes: after.bytes - before.bytes, waits: after.waits - before.waits)
        }
    }

    private static func cache(
        _ cloud: TestCloud, _ world: SeededWorld, _ device: String,
        _ settings: SyncSettings = SyncSettings()
    ) async throws -> (CloudCache, CountedTransport) {
        let clock = world.world(device)
        let link = try await cloud.connect(user: "alice", device: device, world: clock)
        let counted = CountedTransport(try #require(link.transport as? any AccountTransport))
        let connection = CloudConnection(
            transport: counted, hasAccount: true, deviceID: device, world: clock,
            keyStore: cloud.keyStore)
        let cache = try CloudCache(
            memory: MemoryCacheFile(),
            container: CKContainer(
                identifier: "iCloud.org.example.Lists", connection: connection),
            settings: settings, world: clock)
        return (cache, counted)
    }
}

private struct Cost {
    /// The requests' paths.
    var requests: [String] = []
    /// The bytes of bodies and answers, including those of long polls.
    var bytes = 0
    var waits = 0
}

/// Counts requests and their bytes.
private final class CountedTransport: PassingTransport {
    let inner: any AccountTransport
    private let state = Mutex(Cost())

    init(_ inner: any AccountTransport) { self.inner = inner }

    var cost: Cost { state.withLock { $0 } }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let answer = try await inner.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        let bytes = wireBytes(of: request).count + wireBytes(of: answer).count
        state.withLock { state in
            state.requests.append(E.path)
            state.bytes += bytes
        }
        return answer
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        let payload = try await inner.nextNotification(
            at: webcourierURL, timeoutSeconds: timeoutSeconds)
        let bytes = NotificationPayload.wireBytes(of: payload).count
        state.withLock { state in
            state.waits += 1
            state.bytes += bytes
        }
        return payload
    }
}
