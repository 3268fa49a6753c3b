import StratusCache
import StratusClient
import StratusRecords

/// Checks that what is saved in one atomic request is seen together or not at all (P5): two records whose sum is always
/// 0.
extension SimulationRun {
    private static let names = ["sum0", "sum1"]
    private static let type = "Sum"

    func transfer(_ user: Int) async throws {
        let amount = ledger.nextNumber()
        let records = zip(Self.names, [amount, -amount]).map { name, value in
            let zone = CKRecordZone.ID(zoneName: Plan.zones[0])
            let record = CKRecord(
                recordType: Self.type, recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["amount"] = value
            return record
        }
        let database = try await clean(user).privateCloudDatabase
        let batches = mutation == .splitsBatches ? records.map { [$0] } : [records]
        for batch in batches {
            do {
                _ = try await database.modifyRecords(
                    saving: batch, deleting: [], savePolicy: .allKeys, atomically: true)
            } catch is CKError {
                // The zone was not created yet.
                return
            }
            await world.turns(300)
            // Devices that are running fetch meanwhile.
            if batches.count > 1 { try await world.pass(seconds: 1) }
            violations += try wrongSums()
        }
    }

    /// Devices that have only one of the two, or both from different times.
    func wrongSums() throws -> [String] {
        var wrong: [String] = []
        for device in devices {
            guard let cache = device.openCache else { continue }
            for scope in [CKDatabase.Scope.private, .shared] {
                var sums: [ZoneID: [Int64]] = [:]
                for (id, record) in try SimulatedDevice.contents(of: cache, scope)
                where record.type == Self.type {
                    guard case .int64(let amount) = record["amount"] else { continue }
                    sums[id.zoneID, default: []].append(amount)
                }
                for (zone, amounts) in sums where amounts.count != 2 || amounts.reduce(0, +) != 0 {
                    wrong.append(
                        "\(device.name): a batch is seen in part in \(zone.name): \(amounts.sorted())"
                    )
                }
            }
        }
        return wrong
    }
}
