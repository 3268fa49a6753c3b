import Foundation
import StratusCache
import StratusClient
import StratusSync
import Synchronization

/// How fast a new device gets a zone with many records: from pages in this process, which cost nothing, or from
/// the service that the environment names. Beside it the same rows as fast as SQLite takes them.
struct FirstSync {
    var recordCount: Int
    /// Whether the type of the records is declared: three columns, and the words of a field.
    var isDeclared: Bool

    static let zone = CKRecordZone.ID(zoneName: "Bench")
    private static let container = "iCloud.org.example.Benchmark"
    /// The number of records that are requested for a page of a full fetch.
    private static let recordsPerPage = 2_000

    func fromPages() async throws {
        let transport = try PageTransport(
            records: recordCount, recordsPerPage: Self.recordsPerPage)
        let memory = Mutex<Double>(0)
        let early = transport.pageCount / 10
        transport.onPage { page in
            if page == early { memory.withLock { $0 = CacheBench.residentMegabytes() } }
        }
        try await measure(
            CloudConnection(transport: transport, hasAccount: true, keyStore: MemoryKeyStore()))
        let tenth = memory.withLock { $0 }
        CacheBench.say("resident after a tenth, MB", tenth)
        CacheBench.say("resident at the end, MB more", CacheBench.residentMegabytes() - tenth)
    }

    func fromService() async throws {
        try await measure(
            CloudConnection(environmentVariables: ProcessInfo.processInfo.environment))
    }

    /// Fetches what is missing into a file that an earlier run, perhaps killed, has begun, and says how many records were
    /// there and are there.
    func goOn(_ path: String) async throws {
        let cache = try open(
            path, CloudConnection(environmentVariables: ProcessInfo.processInfo.environment))
        let before = try await cache.status().recordCount
        CacheBench.say("records at the start", Double(before))
        // A script that kills this process reads the line first. All streams, since `stdout` is a global variable.
        fflush(nil)
        try await cache.sync()
        let count = try await cache.status().recordCount
        precondition(count == recordCount, "\(count) records came.")
        CacheBench.say("records at the end", Double(count))
        try cache.close()
    }

    private func open(_ path: String, _ connection: CloudConnection) throws -> CloudCache {
        var settings = SyncSettings()
        settings.savesSubscription = false
        return try CloudCache(
            path: path,
            container: CKContainer(identifier: Self.container, connection: connection),
            scopes: [.private], settings: settings, types: isDeclared ? CacheBench.types : nil)
    }

    private func measure(_ connection: CloudConnection) async throws {
        let path = NSTemporaryDirectory() + "first-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let cache = try open(path, connection)
        let (begun, used) = (ContinuousClock.now, CacheBench.processorSeconds())
        try await cache.sync()
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        let count = try await cache.status().recordCount
        precondition(count == recordCount, "\(count) records came.")
        try cache.close()
        let rate = Double(count) / seconds
        CacheBench.say("first sync, records/s", rate)
        CacheBench.say(
            "processor time of this process, µs a record",
            (CacheBench.processorSeconds() - used) / Double(count) * 1e6)
        // A page in a transaction, and as many as are written together where they come fast.
        for rows in [Self.recordsPerPage, 8 * Self.recordsPerPage] {
            let raw = try RawRows.rate(of: path, rowsPerTransaction: rows)
            CacheBench.say("raw SQLite, \(rows) rows a transaction, records/s", raw)
            CacheBench.say("first sync ÷ raw SQLite", rate / raw)
        }
    }

    /// Saves the records to the service that the environment names.
    func fill() async throws {
        let connection = CloudConnection(
            environmentVariables: ProcessInfo.processInfo.environment)
        let database = CKContainer(identifier: Self.container, connection: connection)
            .privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zone))
        // Several at a time, because the service commits them together.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, start) in stride(from: 0, to: recordCount, by: 400).enumerated() {
                if number >= 4 { try await group.next() }
                let records = (start..<min(start + 400, recordCount)).map(record)
                group.addTask {
                    let results = try await database.modifyRecords(
                        saving: records, deleting: [], savePolicy: .allKeys)
                    for result in results.saveResults.values { _ = try result.get() }
                }
            }
            try await group.waitForAll()
        }
    }

    private func record(_ number: Int) -> CKRecord {
        let record = CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: Self.zone))
        record["title"] = "A note with word\(number)"
        record["rank"] = number
        record["isDone"] = number % 2
        record["date"] = Date(timeIntervalSince1970: Double(number) * 60)
        record["stratusFieldTimes"] = "1lq3k5x2a0AbCdEFgHiJKlMnOPqRsTu"
        return record
    }
}
