import Foundation
import StratusCache
import StratusClient

/// How soon a change on one device is seen on another one, and how soon a new device is in step: caches
/// with default settings, over HTTP. Benchmarks/Load/sight.py starts it and says how long things took.
@main
struct Sight {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        switch (words.first, words.dropFirst().map { Double($0) }) {
        case ("first", []): try await firstSync()
        case ("series", let numbers) where numbers.count == 2:
            guard let count = numbers[0], let pauseSeconds = numbers[1] else { fallthrough }
            try await series(of: Int(count), pauseSeconds: pauseSeconds)
        case ("shopping", let numbers) where numbers.count == 2:
            guard let count = numbers[0], let pauseSeconds = numbers[1] else { fallthrough }
            try await Shoppers.series(of: Int(count), pauseSeconds: pauseSeconds)
        default:
            print("Usage: sight first | sight series|shopping COUNT PAUSE-SECONDS")
            exit(64)
        }
    }

    static let container = "iCloud.org.example.Benchmark"
    private static let zone = CKRecordZone.ID(zoneName: "Sight")

    private static func cache(_ device: String) throws -> CloudCache {
        var variables = ProcessInfo.processInfo.environment
        variables["STRATUS_DEVICE_ID"] = device
        let connection = CloudConnection(environmentVariables: variables)
        let path = NSTemporaryDirectory() + "\(device)-\(UUID().uuidString).sqlite"
        return try CloudCache(
            path: path,
            container: CKContainer(identifier: container, connection: connection))
    }

    private static func save(_ name: String, in cache: CloudCache) throws {
        let record = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["beds"] = 24
        try cache.save(record)
    }

    /// The example in README: one record, and a first sync.
    private static func firstSync() async throws {
        let cache = try cache("new")
        try save("hut-3", in: cache)
        try await cache.sync()
        // Otherwise the line would stay in a buffer until the end.
        FileHandle.standardOutput.write(Data("synced\n".utf8))
    }

    /// Saves records on one device and prints, in milliseconds, when the other one had each.
    private static func series(of count: Int, pauseSeconds: Double) async throws {
        let (phone, tablet) = (try cache("phone"), try cache("tablet"))
        try save("first", in: phone)
        try await phone.sync()
        try await tablet.sync()
        var changes = tablet.changes().makeAsyncIterator()
        await phone.start()
        await tablet.start()
        try save("second", in: phone)
        var isSeen = false
        while !isSeen, let ids = await changes.next() {
            isSeen = ids.contains { $0.recordName == "second" }
        }
        // Wait until both have been idle for longer than notifications are gathered.
        try await Task.sleep(for: .seconds(3))
        let clock = ContinuousClock()
        let writer = Task {
            var saved: [String: ContinuousClock.Instant] = [:]
            for number in 0..<count {
                saved["change-\(number)"] = clock.now
                try save("change-\(number)", in: phone)
                if pauseSeconds > 0 { try await Task.sleep(for: .seconds(pauseSeconds)) }
            }
            return saved
        }
        var seen: [String: ContinuousClock.Instant] = [:]
        while seen.count < count, let ids = await changes.next() {
            let now = clock.now
            for name in ids.map(\.recordName) where name.hasPrefix("change-") { seen[name] = now }
        }
        let saved = try await writer.value
        for (name, time) in saved {
            guard let seenTime = seen[name] else { exit(1) }
            print((seenTime - time) / .milliseconds(1))
        }
        await phone.stop()
        await tablet.stop()
    }
}
