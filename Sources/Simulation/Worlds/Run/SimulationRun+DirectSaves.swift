import StratusCache
import StratusClient
import StratusRecords

/// The records that apps save with the client, next to their caches, and what must be in them.
struct DirectRecords {
    struct Edit {
        var user: Int
        var name: String
        var field: String
        var number: Int64
    }

    /// The first two stay; the third one is created and deleted in turns.
    static let names = ["direct0", "direct1", "direct2"]
    static let type = "Direct"
    static let amount = "amount"

    /// The amount of each record of a user at the service: only direct saves change it.
    var amounts: [Int: [String: Int64]] = [:]
    /// The latest edit with a cache of each field, by record and field; each device has a field of its own for each user.
    var edits: [String: Edit] = [:]
}

/// Requests of the client with an item that the service must refuse: it serves the others, or none of them if the request
/// is atomic.
extension SimulationRun {
    private static let directIDs = DirectRecords.names.map {
        CKRecord.ID(recordName: $0, zoneID: CKRecordZone.ID(zoneName: Plan.zones[0]))
    }

    /// Saves two records, and creates or deletes a third one, in one request.
    ///
    /// - Parameter isStale: whether the second record is saved as a new one, although the service may have it.
    func saveDirectly(_ number: Int, isAtomic: Bool, isStale: Bool) async throws {
        let user = devices[number].user
        let amount = ledger.nextNumber()
        // A device of its own: another connection of the same device would use its operation identifiers again.
        let database = try await clean(user, "direct\(amount)").privateCloudDatabase
        guard let here = try await directRecords(in: database, of: user) else { return }
        let (first, second, third) = (
            Self.directIDs[0], Self.directIDs[1], Self.directIDs[2]
        )
        var saved = [here[first], isStale ? nil : here[second]]
        if here[third] == nil { saved.append(nil) }
        let records = zip(saved, Self.directIDs).map { known, id in
            let record = known ?? CKRecord(recordType: DirectRecords.type, recordID: id)
            record[DirectRecords.amount] = amount
            return record
        }
        let results: CKDatabase.RecordModifications
        do {
            results = try await database.modifyRecords(
                saving: records, deleting: here[third] == nil ? [] : [third],
                atomically: isAtomic && mutation != .splitsBatches)
        } catch is CKError {
            // The request was refused as a whole; the next one checks that nothing has changed.
            return
        }
        var failed: [String] = []
        var amounts = directs.amounts[user] ?? [:]
        for id in Self.directIDs {
            if case .success? = results.saveResults[id] {
                amounts[id.recordName] = amount
            } else if case .success? = results.deleteResults[id] {
                amounts[id.recordName] = nil
            } else {
                failed.append(id.recordName)
            }
        }
        directs.amounts[user] = amounts
        if isStale, here[second] != nil, !failed.contains(second.recordName) {
            violations.append(
                "user \(user): \(second.recordName) was saved as a new record over another one")
        }
        if isAtomic, !failed.isEmpty, failed.count < Self.directIDs.count {
            violations.append("user \(user): only \(failed) of an atomic request were refused")
        }
        _ = try await directRecords(in: database, of: user)
    }

    /// The records at the service, whose amounts are checked; nil if their zone was not created yet.
    private func directRecords(
        in database: CKDatabase, of user: Int
    ) async throws -> [CKRecord.ID: CKRecord]? {
        let results: [CKRecord.ID: Result<CKRecord, any Error>]
        do {
            results = try await database.records(for: Self.directIDs)
        } catch is CKError {
            // The zone was not created yet.
            return nil
        }
        var here: [CKRecord.ID: CKRecord] = [:]
        var amounts: [String: Int64] = [:]
        for id in Self.directIDs {
            switch results[id] {
            case .success(let record)?:
                here[id] = record
                amounts[id.recordName] = record[DirectRecords.amount] as Int64?
            case .failure(let error as CKError)? where error.code == .unknownItem: continue
            default: return nil
            }
        }
        compare(amounts, of: user)
        return here
    }

    private func compare(_ amounts: [String: Int64], of user: Int) {
        let expected = directs.amounts[user] ?? [:]
        for name in DirectRecords.names where amounts[name] != expected[name] {
            let (found, saved) = (amounts[name] ?? 0, expected[name] ?? 0)
            violations.append(
                "user \(user): \(name) has the amount \(found), and \(saved) was saved (0: none)")
        }
    }

    /// Edits one of the records with the cache, in a field of its own.
    func editDirect(_ number: Int, _ name: String) throws {
        let device = devices[number]
        let id = CKRecord.ID(
            recordName: name, zoneID: CKRecordZone.ID(zoneName: Plan.zones[0]))
        guard let record = try device.opened().record(for: id, in: .private) else { return }
        let field = "by\(number)of\(device.user)"
        let next = ledger.nextNumber()
        record[field] = next
        do {
            try device.opened().save(record, in: .private)
        } catch {
            // The disk was full or the process ended; the file says which.
        }
        let there = try device.opened().record(for: id, in: .private)
        guard there?[field] as Int64? == next else { return }
        directs.edits["\(name).\(field)"] = DirectRecords.Edit(
            user: device.user, name: name, field: field, number: next)
    }

    /// Checks that amounts are those of the latest direct saves, and that no edit with a cache was lost.
    func checkDirectSaves() async throws {
        guard plan.hasDirectSaves else { return }
        for user in 0..<plan.userCount {
            var records: [String: RecordSnapshot] = [:]
            var amounts: [String: Int64] = [:]
            for (id, record) in try await truth(user).contents[.private] ?? [:]
            where record.type == DirectRecords.type {
                records[id.name] = record
                if case .int64(let amount) = record[DirectRecords.amount] {
                    amounts[id.name] = amount
                }
            }
            compare(amounts, of: user)
            for (key, edit) in directs.edits.sorted(by: { $0.key < $1.key })
            where edit.user == user && records[edit.name]?[edit.field] != .int64(edit.number) {
                violations.append("user \(user): \(key) is not \(edit.number), its latest edit")
            }
        }
    }
}
