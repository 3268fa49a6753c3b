import Foundation
import StratusClient
import StratusRecords
import StratusTesting

/// What tests of an app do with a cloud in one process: many small clouds, then saves, queries and
/// fetches of changes in one. Prints milliseconds of CPU time, of all threads.
///
/// To compare two builds, run them in turns: `TestCloudBenchmark <scale>`.
let scale = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1
let container = "iCloud.org.example.Benchmark"
let zoneID = CKRecordZone.ID(zoneName: "Huts")

func openDatabase(in cloud: TestCloud) async throws -> CKDatabase {
    let container = try await cloud.container(container, user: "alice", device: "phone")
    let database = container.privateCloudDatabase
    _ = try await database.save(CKRecordZone(zoneID: zoneID))
    return database
}

func hut(_ number: Int) -> CKRecord {
    let record = CKRecord(
        recordType: "Hut", recordID: CKRecord.ID(recordName: "hut-\(number)", zoneID: zoneID))
    record["name"] = "Hut number \(number)"
    record["beds"] = number % 40
    return record
}

func cpuMilliseconds() -> Double { Double(clock()) * 1e3 / Double(CLOCKS_PER_SEC) }

func measure(_ name: String, _ body: () async throws -> Void) async throws {
    let start = cpuMilliseconds()
    try await body()
    print("\(name) \(String(format: "%.1f", cpuMilliseconds() - start))")
}

try await measure("clouds") {
    for number in 0..<100 * scale {
        let database = try await openDatabase(in: TestCloud())
        for record in 0..<10 { _ = try await database.save(hut(record)) }
        _ = try await database.record(for: hut(number % 10).recordID)
    }
}

let database = try await openDatabase(in: TestCloud())
try await measure("saves") {
    for number in 0..<2_000 * scale { _ = try await database.save(hut(number)) }
}
try await measure("batches") {
    for batch in 0..<20 * scale {
        let huts = (0..<200).map { hut(100_000 + batch * 200 + $0) }
        _ = try await database.modifyRecords(saving: huts, deleting: [])
    }
}
try await measure("queries") {
    for number in 0..<200 * scale {
        let query = CKQuery(
            recordType: "Hut", predicate: NSPredicate(format: "beds == %d", number % 40))
        let (results, _) = try await database.records(
            matching: query, inZoneWith: zoneID, resultsLimit: 20)
        precondition(results.count == 20)
    }
}
try await measure("changes") {
    for _ in 0..<5 * scale {
        var token: CKServerChangeToken?
        var moreComing = true
        while moreComing {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            token = page.changeToken
            moreComing = page.moreComing
        }
    }
}
