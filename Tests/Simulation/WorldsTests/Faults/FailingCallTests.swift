import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import TestSeeds
import Testing

/// Every combination of failing and succeeding calls of one story, which has twelve calls if all succeed.
@Suite struct FailingCallTests {
    private static let callCount = 12
    /// All combinations take minutes, so each run draws some of them.
    private static let combinations: [UInt64] =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil
        ? Seeds.forTest("FailingCallTests", count: 48).map { $0 % (1 << callCount) }
        : Array(0..<(1 << callCount))

    /// - Parameter arrives: whether a failing call was served.
    @Test(arguments: [false, true])
    func everyCombinationOfFailingCallsConverges(arrives: Bool) async throws {
        #expect(try await Self.end(failing: 0, arrives).callCount <= Self.callCount)
        for combination in Self.combinations {
            let end = try await Self.end(failing: combination, arrives)
            #expect(end.here == ["milk": "2"], "combination \(combination)")
            #expect(end.elsewhere == ["milk": "2"], "combination \(combination)")
        }
    }

    private struct End {
        var here: [String: String]
        var elsewhere: [String: String]
        var callCount: Int
    }

    /// Creates two records and syncs; then edits one, deletes the other and syncs again.
    private static func end(failing combination: UInt64, _ arrives: Bool) async throws -> End {
        let world = SeededWorld(seed: combination)
        return try await world.run {
            let cloud = TestCloud(seeded: world)
            let calls = FailingCalls(combination, callCount, arrives: arrives)
            let phone = try await cache(cloud, world, "phone", calls)
            for name in ["milk", "bread"] { try await phone.save(item(name, "1")) }
            try await sync(phone, world)
            let milk = try await phone.record(for: item("milk", "").recordID)
            milk?["text"] = "2"
            if let milk { try await phone.save(milk) }
            try await phone.delete(item("bread", "").recordID)
            try await sync(phone, world)
            let tablet = try await cache(cloud, world, "tablet", nil)
            try await tablet.sync()
            return End(
                here: try await texts(phone), elsewhere: try await texts(tablet),
                callCount: calls.count)
        }
    }

    private static func cache(
        _ cloud: TestCloud, _ world: SeededWorld, _ device: String, _ calls: FailingCalls?
    ) async throws -> CloudCache {
        let clock = world.world(device)
        let link = try await cloud.connect(user: "alice", device: device, world: clock)
        let inner = try #require(link.transport as? any AccountTransport)
        let connection = CloudConnection(
            transport: calls.map { FailingTransport(inner, $0) } ?? inner, hasAccount: true,
            deviceID: device, world: clock, keyStore: cloud.keyStore)
        return try CloudCache(
            memory: MemoryCacheFile(),
            container: CKContainer(
                identifier: "iCloud.org.example.Lists", connection: connection),
            scopes: [.private], world: clock)
    }

    /// Syncs until the queue is empty, or for as long as calls may fail.
    private static func sync(_ cache: CloudCache, _ world: SeededWorld) async throws {
        for _ in 0..<2 * callCount {
            do {
                return try await cache.sync()
            } catch is CacheError {
                try await world.pass(seconds: 400)
            }
        }
    }

    private static func item(_ name: String, _ text: String) -> CKRecord {
        let zone = CKRecordZone.ID(zoneName: "List")
        let item = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        item["text"] = text
        return item
    }

    private static func texts(_ cache: CloudCache) async throws -> [String: String] {
        let zone = CKRecordZone.ID(zoneName: "List")
        return try await cache.records(ofType: "Item", inZoneWith: zone)
            .reduce(into: [:]) { $0[$1.recordID.recordName] = $1["text"] }
    }
}

/// Which of the first calls fail.
private final class FailingCalls: Sendable {
    let arrives: Bool
    private let combination: UInt64
    private let limit: Int
    private let made = Mutex(0)

    init(_ combination: UInt64, _ limit: Int, arrives: Bool) {
        self.combination = combination
        self.limit = limit
        self.arrives = arrives
    }

    var count: Int { made.withLock { $0 } }

    func nextFails() -> Bool {
        let place = made.withLock { made in
            defer { made += 1 }
            return made
        }
        return place < limit && combination >> UInt64(place) & 1 == 1
    }
}

private struct FailingTransport: PassingTransport {
    let inner: any AccountTransport
    private let calls: FailingCalls

    init(_ inner: any AccountTransport, _ calls: FailingCalls) {
        self.inner = inner
        self.calls = calls
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let fails = calls.nextFails()
        if !fails || calls.arrives {
            let answer = try await inner.send(
                endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
            if !fails { return answer }
        }
        throw TransportError(.answerLost, "The test lost it.")
    }
}
