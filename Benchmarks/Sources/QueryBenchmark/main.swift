import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire

// What a page of a query costs in a small and in a large zone, and what indexes cost a save: the service
// with its SQLite store, without HTTP. The zones take turns, so that only the ratios of one run say
// something. Usage: QueryBenchmark [ROUNDS] [SMALL] [LARGE]; sizes are multiples of 400.
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let rounds = arguments.first ?? 7
let sizes = arguments.count >= 3 ? [arguments[1], arguments[2]] : [1_200, 100_000]
let queriesPerRound = 50
let folder = NSTemporaryDirectory() + "stratus-benchmark-" + UUID().uuidString
defer { try? FileManager.default.removeItem(atPath: folder) }  // a leftover does no harm

let storage = try SQLiteStorageEngine(folder: folder)
let cloud = try await Cloud(
    service: CloudService(
        storage: storage, settings: ServiceSettings(isForDevelopment: true)))

func seconds(_ body: () async throws -> Void) async throws -> Double {
    let duration = try await ContinuousClock().measure { try await body() }
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

func spread(_ values: [Double], digits: Int = 2) -> String {
    let sorted = values.sorted()
    return [sorted[0], sorted[sorted.count / 2], sorted[sorted.count - 1]]
        .map { String(format: "%.\(digits)f", $0) }.joined(separator: " / ")
}

// MARK: Saves with indexes and without

// A type without marked fields: its schema exists before its first record.
let plain = "Plain"
_ = try await storage.directory.extendSchema(
    of: ContainerAddress(container: "iCloud.org.example.Benchmark", environment: .development),
    with: [
        ("rank", FieldType.int64), ("length", .double), ("opened", .timestamp),
        ("title", .string), ("place", .location),
    ].map { SchemaFieldRow(recordType: plain, field: $0.0, type: $0.1) })
try await cloud.makeZone("Saves")
var rates: [[Double]] = [[], []]
// Marks allow indexes; the queries cause them to be built.
try await cloud.save([Trail.record(0, of: 1_000_000)], in: "Saves")
for question in Trail.questions {
    _ = try await cloud.query(question.query, in: "Saves", limit: 1)
}
for round in 0..<(rounds * 4) {
    for (index, type) in [plain, Trail.type].enumerated() {
        let records = (0..<400).map { number -> RecordDictionary in
            var record = Trail.record(round * 400 + number, of: 1_000_000, type: type)
            record.recordName = "\(type)-\(round * 400 + number)"
            return record
        }
        rates[index].append(
            400 / (try await seconds { try await cloud.save(records, in: "Saves") }))
    }
}
print("saves of 400 new records with 5 fields, records/s (least / median / greatest)")
print("  no field marked: \(spread(rates[0], digits: 0))")
print("  all fields queried: \(spread(rates[1], digits: 0))")
print("  ratio by round: \(spread(zip(rates[0], rates[1]).map { $0 / $1 }))")

// MARK: Queries in a small and a large zone

for size in sizes {
    let zone = "Zone-\(size)"
    try await cloud.makeZone(zone)
    let time = try await seconds {
        for start in stride(from: 0, to: size, by: 400) {
            let end = min(start + 400, size)
            try await cloud.save(
                (start..<end).map { Trail.record($0, of: size) }, in: zone)
        }
    }
    print("saved \(size) records: \(Int(Double(size) / time)) records/s")
}
await cloud.waitUntilIdle()

print("microseconds a query in \(sizes[0]) and \(sizes[1]) records, and the ratio by round")
for question in Trail.questions {
    // An index is built when a query first needs it.
    for size in sizes {
        while try await cloud.query(question.query, in: "Zone-\(size)", limit: question.limit)
            < question.count
        {}
    }
    await cloud.waitUntilIdle()
    var times: [[Double]] = [[], []]
    for _ in 0..<rounds {
        for (index, size) in sizes.enumerated() {
            let time = try await seconds {
                for _ in 0..<queriesPerRound {
                    let count = try await cloud.query(
                        question.query, in: "Zone-\(size)", limit: question.limit)
                    guard count == question.count else {
                        fatalError("\(question.name): \(count) records, not \(question.count)")
                    }
                }
            }
            times[index].append(time / Double(queriesPerRound) * 1_000_000)
        }
    }
    let ratios = zip(times[1], times[0]).map { $0 / $1 }
    print(
        "  \(question.name): \(spread(times[0], digits: 0)); \(spread(times[1], digits: 0));"
            + " ratio \(spread(ratios))")
}
try await storage.close()
