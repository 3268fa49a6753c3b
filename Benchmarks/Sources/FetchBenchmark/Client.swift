import Foundation
import StratusClient
import Synchronization

/// A new device that fetches a whole zone.
struct Client {
    static let zoneID = CKRecordZone.ID(zoneName: "Items", ownerName: CKCurrentUserDefaultName)
    static let container = "iCloud.org.example.Benchmark"

    private let database: CKDatabase

    init(url: String) {
        let connection = CloudConnection(environmentVariables: [
            "STRATUS_URL": url, "STRATUS_DEV_USER": "alice",
        ])
        database =
            CKContainer(identifier: Self.container, connection: connection)
            .privateCloudDatabase
    }

    func fill(recordCount: Int) async throws {
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        for start in stride(from: 0, to: recordCount, by: 400) {
            let records = (start..<min(start + 400, recordCount)).map { number in
                let id = CKRecord.ID(recordName: "record-\(number)", zoneID: Self.zoneID)
                let record = CKRecord(recordType: "Item", recordID: id)
                record["title"] = "Item number \(number)"
                record["note"] = "Bought by Alice on a Saturday"
                record["count"] = number
                record["position"] = number * 7
                record["price"] = Double(number) / 8
                return record
            }
            let saved = try await database.modifyRecords(saving: records, deleting: [])
            for result in saved.saveResults.values { _ = try result.get() }
        }
    }

    struct Fetch {
        var recordCount = 0
        var titleBytes = 0
        var seconds: Double = 0
        /// The peak after the first tenth of the records, and after all.
        var peakKilobytes = [0, 0]
    }

    /// Fetches every record, and reads a field of each.
    func fetch(recordCount: Int) async throws -> Fetch {
        let state = Mutex(Fetch())
        let start = ContinuousClock.now
        try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Void, any Error>) in
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Self.zoneID])
            operation.recordWasChangedBlock = { _, result in
                guard case .success(let record) = result else { return }
                let title: String? = record["title"]
                state.withLock {
                    $0.recordCount += 1
                    $0.titleBytes += title?.utf8.count ?? 0
                    if $0.recordCount == recordCount / 10 {
                        $0.peakKilobytes[0] = peakKilobytes()
                    }
                }
            }
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        return state.withLock {
            $0.seconds = (ContinuousClock.now - start).seconds
            $0.peakKilobytes[1] = peakKilobytes()
            return $0
        }
    }
}

/// The most memory that this process ever had, as Linux counts it (`VmHWM`).
func peakKilobytes() -> Int {
    // If there is no such file, the table has 0.
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.filter(\.isNumber)) ?? 0
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
