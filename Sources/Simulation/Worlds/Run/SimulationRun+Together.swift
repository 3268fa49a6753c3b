import StratusCache
import StratusClient
import StratusRecords

/// What apps save in one transaction: after it, all of it is in the file or none, whatever interrupts it.
extension SimulationRun {
    /// A record of a transaction.
    private struct Part {
        var key: Ledger.Key
        var id: CKRecord.ID
        var scope: CKDatabase.Scope
        var life: Int64
        /// The record with its change; nil if it is deleted.
        var item: CKRecord?
        var field = 0
        /// The number of the edit.
        var number: Int64 = 0
        var isNew = false
    }

    func saveTogether(
        _ number: Int, _ records: [Int], field: Int, deleting deleted: Int?, isOwn: Bool
    ) throws {
        var parts: [Part] = []
        for record in records {
            if let part = try edit(of: record, field: field, on: number) {
                parts.append(part)
                continue
            }
            let (key, id, scope) = place(record, of: devices[number])
            guard isMaker(number, of: key),
                try devices[number].opened().record(for: id, in: scope) == nil
            else { continue }
            parts.append(creation(key, id, scope, on: number))
        }
        if let deleted, !records.contains(deleted),
            let part = try deletion(of: deleted, on: number)
        {
            parts.append(part)
        }
        try save(parts, on: devices[number], isOwn: isOwn)
    }

    func saveList(_ number: Int, _ list: Int, field: Int) throws {
        let records = Plan.records(ofList: list)
        let (listKey, listID, scope) = place(records[0], of: devices[number])
        // A list that was created once is not created again after its deletion.
        if ledger.lives[listKey] == nil {
            guard isMaker(number, of: listKey) else { return }
            let parts = records.map { record in
                let (key, id, _) = place(record, of: devices[number])
                let part = creation(key, id, scope, on: number)
                if id != listID { part.item?.setParent(listID) }
                return part
            }
            return try save(parts, on: devices[number], isOwn: list.isMultiple(of: 2))
        }
        let edits = try records.compactMap { try edit(of: $0, field: field, on: number) }
        try save(edits, on: devices[number], isOwn: field == 0)
    }

    func deleteList(_ number: Int, _ list: Int) throws {
        let records = Plan.records(ofList: list)
        guard isMaker(number, of: place(records[0], of: devices[number]).key) else { return }
        let deletions = try records.reversed().compactMap { try deletion(of: $0, on: number) }
        try save(deletions, on: devices[number], isOwn: list.isMultiple(of: 2))
    }

    // MARK: The records of a transaction

    private func creation(
        _ key: Ledger.Key, _ id: CKRecord.ID, _ scope: CKDatabase.Scope, on number: Int
    ) -> Part {
        let item = CKRecord(recordType: "Item", recordID: id)
        let life = ledger.nextNumber()
        item["life"] = life
        item[Plan.fields[0]] = life
        devices[number].writeCopy(in: item)
        return Part(
            key: key, id: id, scope: scope, life: life, item: item, number: life, isNew: true)
    }

    /// - Returns: nil if the record is not here.
    private func edit(of record: Int, field: Int, on number: Int) throws -> Part? {
        let (key, id, scope) = place(record, of: devices[number])
        guard let item = try devices[number].opened().record(for: id, in: scope),
            let life = item["life"] as Int64?
        else { return nil }
        let next = ledger.nextNumber()
        item[Plan.fields[field]] = next
        if field == 0 { devices[number].writeCopy(in: item) }
        return Part(
            key: key, id: id, scope: scope, life: life, item: item, field: field, number: next)
    }

    /// - Returns: nil if the record is not here.
    private func deletion(of record: Int, on number: Int) throws -> Part? {
        let (key, id, scope) = place(record, of: devices[number])
        guard let life = try devices[number].opened().record(for: id, in: scope)?["life"] as Int64?
        else { return nil }
        return Part(key: key, id: id, scope: scope, life: life)
    }

    // MARK: The transaction

    private func save(_ parts: [Part], on device: SimulatedDevice, isOwn: Bool) throws {
        guard !parts.isEmpty else { return }
        var isCertain = true
        do {
            try write(parts, to: device.opened(), isOwn: isOwn)
        } catch {
            // The disk was full or the process ended; the file says which.
            isCertain = false
        }
        isCertain = isCertain && device.openCache != nil
        let saved = try parts.filter { try isSaved($0, on: device) }
        guard saved.count == parts.count else {
            if isCertain || !saved.isEmpty {
                violations.append(
                    "\(device.name): of the \(parts.count) records of one transaction, \(saved.count)"
                        + " are saved: \(saved.map(\.id.recordName))")
            }
            return
        }
        for part in parts {
            guard part.item != nil else {
                ledger.deleted(part.key, life: part.life, by: device.user)
                continue
            }
            if part.isNew { ledger.made(part.key, part.life) }
            try noteEdit(
                part.key, part.life, part.field, part.number, part.id, device, part.scope)
        }
    }

    private func write(_ parts: [Part], to cache: CloudCache, isOwn: Bool) throws {
        if mutation == .splitsTransactions {
            for part in parts { try Self.write([part], to: cache, in: part.scope) }
            return
        }
        let scope = parts[0].scope
        // Only an app's own transaction changes two databases.
        guard isOwn || parts.contains(where: { $0.scope != scope }) else {
            return try Self.write(parts, to: cache, in: scope)
        }
        try cache.write { transaction in
            for part in parts {
                if let item = part.item {
                    try transaction.save(item, in: part.scope)
                } else {
                    try transaction.delete(part.id, in: part.scope)
                }
            }
        }
    }

    private static func write(
        _ parts: [Part], to cache: CloudCache, in scope: CKDatabase.Scope
    ) throws {
        try cache.save(
            parts.compactMap(\.item), deleting: parts.filter { $0.item == nil }.map(\.id),
            in: scope)
    }

    private func isSaved(_ part: Part, on device: SimulatedDevice) throws -> Bool {
        let there = try device.opened().record(for: part.id, in: part.scope)
        guard part.item != nil else { return there == nil }
        return there?[Plan.fields[part.field]] as Int64? == part.number
    }
}
