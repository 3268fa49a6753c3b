import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire

// What a fetch of ten changes costs in a small and in a large zone: the service with its SQLite store,
// without HTTP. The two zones take turns. Usage: ChangesBenchmark [ROUNDS] [SMALL] [LARGE]
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let rounds = arguments.first ?? 15
let sizes = arguments.count >= 3 ? [arguments[1], arguments[2]] : [1_000, 100_000]
let fetchesPerRound = 200
let folder = NSTemporaryDirectory() + "stratus-benchmark-" + UUID().uuidString
defer { try? FileManager.default.removeItem(atPath: folder) }  // a leftover hurts nobody

let storage = try SQLiteStorageEngine(folder: folder)
let cloud = Cloud(
    service: CloudService(
        storage: storage, settings: ServiceSettings(isForDevelopment: true)))
try await cloud.signIn()

var tokens: [String] = []
for size in sizes {
    let start = ContinuousClock.now
    let zone = "Zone-\(size)"
    try await cloud.fill(zone, records: size)
    let seconds = (ContinuousClock.now - start).seconds
    print("saved \(size) records, 400 a request: \(Int(Double(size) / seconds)) records/s")
    tokens.append(try await cloud.readToEnd(zone))
    try await cloud.save(zone, from: 0, to: 10)
}

var samples = sizes.map { _ in [Double]() }
for _ in 0..<rounds {
    for (index, size) in sizes.enumerated() {
        let start = ContinuousClock.now
        for _ in 0..<fetchesPerRound {
            let count = try await cloud.fetch("Zone-\(size)", since: tokens[index])
            guard count == 10 else { fatalError("A fetch gave \(count) changes instead of 10.") }
        }
        samples[index].append(
            (ContinuousClock.now - start).seconds * 1_000_000 / Double(fetchesPerRound))
    }
}
for (index, size) in sizes.enumerated() {
    let sorted = samples[index].sorted()
    print(
        "10 changes of \(size): least \(Int(sorted[0])), median \(Int(sorted[rounds / 2])), "
            + "greatest \(Int(sorted[rounds - 1])) microseconds a fetch")
}
let ratios = zip(samples[1], samples[0]).map { $0 / $1 }.sorted()
print(
    String(
        format: "ratio large/small by round: least %.2f, median %.2f, greatest %.2f",
        ratios[0], ratios[rounds / 2], ratios[rounds - 1]))
try await storage.close()

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
