import Foundation
import StratusCache
import StratusClient

/// What a cache with many records costs on the device: opening, an indexed query of 20, a write that ten
/// observers do not care about, memory. Run by `Scripts/bench cache`; without a network.
///
/// Figures are medians of repeated runs in one process; the write's is a ratio of two medians that are
/// measured in turns; memory's is what the process has more after all records than after a tenth of them. A figure over its
/// bar is marked, and the status is 1.
@main
struct CacheBench {
    static let zone = CKRecordZone.ID(zoneName: "Bench")
    static let types = [
        CachedType("Note", indexed: ["rank", "isDone", "date"], searchable: ["title"])
    ]

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let first = FirstSync(
            recordCount: arguments.lazy.compactMap { Int($0) }.first ?? 1_000_000,
            isDeclared: arguments.contains("declared"))
        switch arguments.first {
        case "first": return try await first.fromPages()
        case "fill": return try await first.fill()
        case "service": return try await first.fromService()
        case "continue": return try await first.goOn(CommandLine.arguments.last ?? "")
        default: break
        }
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        let path = NSTemporaryDirectory() + "bench-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        var cache = try open(path)
        var seconds = try time { try fill(cache, 0..<count / 10) }
        let early = residentMegabytes()
        seconds += try time { try fill(cache, count / 10..<count) }
        say("records", Double(count))
        say("filled, seconds", seconds)
        say("resident after a tenth, MB", early)
        try cache.close()
        var openings: [Double] = []
        for _ in 0..<9 {
            openings.append(try time { cache = try open(path) } * 1_000)
            try cache.close()
        }
        cache = try open(path)
        var isOver = say("opening, ms", median(openings), atMost: 100)
        let newest = CacheQuery("Note").where(NSPredicate(format: "isDone == 0"))
            .sorted(by: "date", ascending: false).limited(to: 20)
        let span = CacheQuery("Note")
            .where(NSPredicate(format: "rank >= %d", count / 2)).sorted(by: "rank").limited(to: 20)
        let words = CacheQuery("Note")
            .where(NSPredicate(format: "title TOKENMATCHES %@", "word\(count / 3)")).limited(to: 20)
        for (name, query) in [("newest", newest), ("span", span), ("words", words)] {
            var runs: [Double] = []
            for _ in 0..<50 {
                runs.append(
                    try time {
                        let found = try cache.records(matching: query)
                        precondition(!found.isEmpty, "The query \(name) found nothing.")
                    } * 1_000)
            }
            isOver = say("query of 20, \(name), ms", median(runs), atMost: 2) || isOver
        }
        let ratio = try await write(cache, newest)
        isOver = say("write beside ten observers, ratio", ratio, atMost: 1.1) || isOver
        let growth = residentMegabytes() - early
        isOver = say("resident at the end, MB more", growth, atMost: 32) || isOver
        try cache.close()
        guard isOver else { return }
        print("Not all bars are held.")
        for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) }
        exit(1)
    }

    private static func open(_ path: String) throws -> CloudCache {
        let connection = CloudConnection(environmentVariables: [:])
        return try CloudCache(
            path: path,
            container: CKContainer(
                identifier: "iCloud.org.example.Benchmark", connection: connection),
            types: types)
    }

    private static func note(_ number: Int) -> CKRecord {
        let record = CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: "note \(number)", zoneID: zone))
        record["title"] = "A note with word\(number)"
        record["rank"] = number
        record["isDone"] = number % 2 == 0
        record["date"] = Date(timeIntervalSince1970: Double(number) * 60)
        return record
    }

    private static func fill(_ cache: CloudCache, _ numbers: Range<Int>) throws {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 2_000) {
            try cache.save((start..<min(start + 2_000, numbers.upperBound)).map(note))
        }
    }

    /// Saves of another type, with ten observers and without, in turns.
    ///
    /// In both ten observers read their first answer, so that what differs is whether they are still there.
    ///
    /// - Returns: how much longer they take with.
    private static func write(
        _ cache: CloudCache, _ query: CacheQuery
    ) async throws -> Double {
        var runs: [Bool: [Double]] = [:]
        for turn in 0..<20 {
            let isWatched = turn % 2 == 0
            var observers: [CacheObservation.Iterator] = []
            for _ in 0..<10 {
                var updates = try cache.observe(query).makeAsyncIterator()
                _ = try await updates.next()
                observers.append(updates)
            }
            if !isWatched { observers = [] }
            for number in 0..<20 {
                let item = CKRecord(
                    recordType: "Item",
                    recordID: CKRecord.ID(recordName: "\(turn) \(number)", zoneID: zone))
                item["text"] = "x"
                runs[isWatched, default: []].append(try time { try save(item, cache) } * 1_000)
            }
            withExtendedLifetime(observers) {}
        }
        let (watched, alone) = (median(runs[true] ?? []), median(runs[false] ?? []))
        say("write, ms", alone)
        return watched / alone
    }

    private static func save(_ record: CKRecord, _ cache: CloudCache) throws {
        try cache.save(record)
    }

    private static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func median(_ values: [Double]) -> Double {
        values.isEmpty ? .nan : values.sorted()[values.count / 2]
    }

    /// The processor time of this process so far, in its own code and in the kernel.
    static func processorSeconds() -> Double {
        var usage = rusage()
        #if os(Linux)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
    }

    static func residentMegabytes() -> Double {
        #if os(Linux)
            let words = FileManager.default.contents(atPath: "/proc/self/statm")
                .map { String(decoding: $0, as: UTF8.self).split(separator: " ") }
            return (words.flatMap { $0.count > 1 ? Double($0[1]) : nil } ?? .nan) * 4_096
                / 1_048_576
        #else
            return .nan
        #endif
    }

    static func say(_ name: String, _ value: Double) {
        print(name + ":", (value * 1_000).rounded() / 1_000)
    }

    /// - Returns: whether the figure is over its bar.
    private static func say(_ name: String, _ value: Double, atMost bar: Double) -> Bool {
        let isHeld = value <= bar
        print(
            name + ":", (value * 1_000).rounded() / 1_000, "(at most \(bar))",
            isHeld ? "" : "OVER")
        return !isHeld
    }
}
