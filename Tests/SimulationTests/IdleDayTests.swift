import StratusCache
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// What a day costs a device that syncs: in requests, and in bytes of their bodies and those of the answers.
@Suite struct IdleDayTests {
    private static let daySeconds = 86_400.0
    private static let zone = CKRecordZone.ID(zoneName: "List")

    /// A device that asks every 15 seconds whether anything changed asks 5,760 times a day.
    @Test(arguments: [(changes: 0, requests: 400, bytes: 120_000), (100, 700, 300_000)])
    func dayCostsLessThanPolling(changes: Int, requests: Int, bytes: Int) async throws {
        let world = SeededWorld(seed: 7)
        let cost = try await world.run {
            let cloud = TestCloud(seeded: world)
            let (phone, counted) = try await Self.cache(cloud, world, "phone")
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
                try await world.pass(seconds: Self.daySeconds / Double(max(1, changes)))
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
            return (
                requests: after.requests - before.requests, bytes: after.bytes - before.bytes,
                waits: after.waits - before.waits
            )
        }
        print(
            "A day with \(changes) changes: \(cost.requests) requests of \(cost.bytes) bytes, "
                + "\(cost.waits) long polls.")
        #expect(cost.requests <= requests)
        #expect(cost.bytes <= bytes)
    }

    private static func cache(
        _ cloud: TestCloud, _ world: SeededWorld, _ device: String
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
                identifier: "iCloud.org.example.Lists", connection: connection), world: clock)
        return (cache, counted)
    }
}

/// Counts what passes.
private final class CountedTransport: PassingTransport {
    let inner: any AccountTransport
    private let state = Mutex((requests: 0, bytes: 0, waits: 0))

    init(_ inner: any AccountTransport) { self.inner = inner }

    var cost: (requests: Int, bytes: Int, waits: Int) { state.withLock { $0 } }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let answer = try await inner.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        let bytes = wireBytes(of: request).count + wireBytes(of: answer).count
        state.withLock { state in
            state.requests += 1
            state.bytes += bytes
        }
        return answer
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        state.withLock { $0.waits += 1 }
        return try await inner.nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }
}
