import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire

// What one greedy client takes from another user: the quiet user's latency alone and beside 32 tasks that save
// batches of 200 records without a pause, whatever they are answered. The service with its SQLite
// store, without HTTP, as it runs by default (with rates) and with the turns alone. Alone and beside
// take turns, so that only the ratios of one run say something. Usage: FairnessBenchmark [ROUNDS]
let rounds = CommandLine.arguments.dropFirst().compactMap { Int($0) }.first ?? 3
let requestsPerRound = 300

func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

/// The quiet user's requests, slower than the default rate allows: milliseconds of each.
func quietRound(_ person: Person) async throws -> [Double] {
    var times: [Double] = []
    for number in 0..<requestsPerRound {
        let duration = try await ContinuousClock().measure {
            if number.isMultiple(of: 2) {
                _ = try await person.save(1, from: number)
            } else {
                _ = try await person.lookup(number - 1)
            }
        }
        times.append(
            Double(duration.components.seconds) * 1e3
                + Double(duration.components.attoseconds) / 1e15)
        try await Task.sleep(for: .milliseconds(28))
    }
    return times
}

/// Runs `body` while a greedy client does what it can.
///
/// - Returns: what it returned, and how many of the greedy client's requests were served and refused.
func besideGreedy(
    _ person: Person, _ body: () async throws -> [Double]
) async throws -> (times: [Double], served: Int, refused: Int) {
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
        for task in 0..<32 {
            group.addTask {
                var counts = (0, 0)
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    if try await person.save(200, from: (task * 1_000 + number % 5) * 200) {
                        counts.0 += 1
                    } else {
                        counts.1 += 1
                        // Less than the service asked it to wait.
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                }
                return counts
            }
        }
        // By then the burst that a user may send after a pause has ended.
        try await Task.sleep(for: .milliseconds(500))
        let times = try await body()
        group.cancelAll()
        var (served, refused) = (0, 0)
        for try await counts in group {
            served += counts.0
            refused += counts.1
        }
        return (times, served, refused)
    }
}

for isThrottled in [true, false] {
    let folder = NSTemporaryDirectory() + "stratus-benchmark-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }  // a leftover does no harm
    let storage = try SQLiteStorageEngine(folder: folder)
    var limits = Limits()
    limits.privateDatabaseBytes = .max / 2
    let service = CloudService(
        storage: storage,
        settings: ServiceSettings(
            isForDevelopment: true, limits: limits, isThrottled: isThrottled))
    let quiet = try await Person("quiet", service: service)
    let greedy = try await Person("greedy", service: service)
    _ = try await quietRound(quiet)
    print(isThrottled ? "with the default rates" : "with turns alone")
    var ratios: [[Double]] = [[], []]
    var all: (alone: [Double], beside: [Double]) = ([], [])
    for round in 1...rounds {
        let alone = try await quietRound(quiet)
        let beside = try await besideGreedy(greedy) { try await quietRound(quiet) }
        all.alone += alone
        all.beside += beside.times
        let shares = [0.5, 0.99]
        let values = shares.map { (percentile(alone, $0), percentile(beside.times, $0)) }
        for (index, value) in values.enumerated() { ratios[index].append(value.1 / value.0) }
        print(
            String(
                format: "  round %d: p50 %.2f and %.2f ms, p99 %.2f and %.2f ms; greedy: %d "
                    + "served, %d refused", round, values[0].0, values[0].1, values[1].0,
                values[1].1, beside.served, beside.refused))
    }
    for (name, values) in zip(["p50", "p99"], ratios) {
        let sorted = values.sorted()
        print(
            String(
                format: "  %@ beside by alone: least %.2f, median %.2f, greatest %.2f", name,
                sorted[0], sorted[sorted.count / 2], sorted[sorted.count - 1]))
    }
    let alone = percentile(all.alone, 0.99)
    let beside = percentile(all.beside, 0.99)
    print(
        String(
            format: "  all rounds: p99 %.2f and %.2f ms, ratio %.2f", alone, beside, beside / alone)
    )
    await service.waitUntilIdle()
    try await storage.close()
}
