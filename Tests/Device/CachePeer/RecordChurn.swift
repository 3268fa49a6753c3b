import Foundation
import StratusCache
import StratusClient
import StratusSync

/// A device that uses the service named in its environment. It creates, edits, deletes and syncs records as a seed
/// determines, and writes a ``ChurnLedger``.
///
/// It prints `open` when its file is open, and then runs the commands of its input: `churn synced` and `churn running`,
/// which run until the process is killed, `steps N`, `sync` and `list`.
struct RecordChurn {
    private static let zone = CKRecordZone.ID(zoneName: "List")
    private static let fields = ["a", "b"]
    /// With so few records two devices often change the same one.
    private static let mostRecords = 30

    /// A faulty device, which shows that the comparison finds such faults. The variable `CHURN_FAULT` selects one.
    enum Fault: String {
        /// Some changes are acknowledged while they are only in memory.
        case acknowledgesAhead
        /// Changes that were not sent before the process ended are made a second time.
        case repeatsUnsent
    }

    private let cache: CloudCache
    private let ledger: ChurnLedger
    private let fault: Fault?
    private var numbers: UInt64
    /// The records that were in the file before the steps of this turn.
    private var known: Set<CKRecord.ID> = []

    /// - Parameter life: The unique name of this start: the device's name, a dot and a number.
    init(path: String, ledger: String, life: String, seed: UInt64) throws {
        var settings = SyncSettings()
        settings.operationsPerSecond = .infinity
        settings.firstRetryDelaySeconds = 0
        settings.coalescingSeconds = 0
        // Small batches, so that a kill may come between two.
        settings.itemsPerBatch = 4
        settings.recordsPerPage = 4
        cache = try CloudCache(path: path, container: .default(), settings: settings)
        self.ledger = try ChurnLedger(path: ledger, life: life)
        numbers = seed
        fault = ProcessInfo.processInfo.environment["CHURN_FAULT"].flatMap(Fault.init)
        self.ledger.keepsChanges = fault == .acknowledgesAhead
    }

    mutating func run() async throws {
        try ledger.noteView(view())
        if fault == .repeatsUnsent { try await repeatUnsent() }
        CachePeer.say("open")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "churn": try await churn(isRunning: words.last == "running")
            case "steps":
                try await cache.sync()
                for _ in 0..<(Int(words[1]) ?? 0) {
                    try step()
                    if random(3) == 0 { try await cache.sync() }
                }
                try await cache.sync()
                known = Set(try records().map(\.recordID))
                CachePeer.say("done")
            case "sync":
                try await cache.sync()
                CachePeer.say("synced \(try await cache.pendingRecordIDs().count)")
            default:
                for row in try view() { CachePeer.say("row \(row)") }
                CachePeer.say("end")
            }
        }
    }

    /// Makes changes until the process is killed.
    ///
    /// - Parameter isRunning: Whether the cache syncs by itself and receives notifications. Otherwise each sync is
    ///   requested here, and announced in the output.
    private mutating func churn(isRunning: Bool) async throws {
        let cache = cache
        if isRunning { await cache.start() }
        while true {
            if isRunning {
                for _ in 0...random(6) { try step() }
                // The pace of a person in a hurry; the sync loop runs in between.
                try await Task.sleep(for: .milliseconds(random(10)))
            } else {
                CachePeer.say("syncing")
                async let sync: Void = cache.sync()
                for _ in 0...random(6) {
                    await Task.yield()
                    try step()
                }
                try await sync
            }
        }
    }

    /// Makes, edits or deletes one record.
    private mutating func step() throws {
        let records = try records()
        let choice = random(10)
        guard choice >= 3 || records.count >= Self.mostRecords else {
            let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: Self.zone))
            return try ledger.write("make", record.recordID.recordName) { [cache] operation in
                for key in ["key"] + Self.fields { record[key] = operation }
                try cache.save(record)
            }
        }
        guard !records.isEmpty else { return }
        // Prefers records that have just arrived: the device that made one may not know yet that its save arrived.
        let fresh = records.filter { !known.contains($0.recordID) }
        let some = fresh.isEmpty || random(2) == 0 ? records : fresh
        let record = some[Int(random(UInt64(some.count)))]
        let name = record.recordID.recordName
        if choice < 7, records.count < Self.mostRecords {
            let field = Self.fields[Int(random(2))]
            try ledger.write("edit-\(field)", name) { [cache] operation in
                record[field] = operation
                try cache.save(record)
            }
        } else {
            try ledger.write("delete", name) { [cache] _ in
                try cache.delete(record.recordID)
            }
        }
    }

    private func repeatUnsent() async throws {
        for id in try await cache.pendingRecordIDs() {
            guard let record = try await cache.record(for: id) else { continue }
            let copy = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: Self.zone))
            for key in record.allKeys() { copy[key] = record[key] as String? }
            try await cache.save(copy)
        }
    }

    private func records() throws -> [CKRecord] {
        try cache.records(ofType: "Item", inZoneWith: Self.zone)
            .sorted { $0.recordID.recordName < $1.recordID.recordName }
    }

    /// The content of the file, one line for each record.
    private func view() throws -> [String] {
        try records().map { record in
            let values = (["key"] + Self.fields).map { record[$0] as String? ?? "-" }
            return ([record.recordID.recordName] + values).joined(separator: " ")
        }
    }

    private mutating func random(_ count: UInt64) -> UInt64 {
        numbers = numbers &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (numbers >> 33) % count
    }
}
