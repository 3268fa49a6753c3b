import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

/// What a modify request came to.
struct ModifyOutcome: Sendable {
    var answer: RecordsModify.Answer
    /// Set when the request failed as a whole: an atomic zone that was the request's only one.
    var failure: RequestFailure?
    var hasOutboxEvents = false
    var sharing = SharingOutcome()
}

/// The part of a modify request that runs inside the store's transaction: read, decide, write.
struct ModifyTransaction: Sendable {
    let request: RecordsModify.Request
    let plan: ModifyPlan
    let context: RequestContext
    let summary: SubscriptionSummary
    let outbox: Notifications.Cursor
    let nowMilliseconds: Int64
    let settings: ServiceSettings
    /// For callers who want to know where the request's zone stands.
    let signer: TokenSigner

    func run(in writer: any StoreWriter) throws -> ModifyOutcome {
        try outbox.dequeue(in: writer)
        let idempotencyRecord = try IdempotencyRecord(
            request.operationID, of: operations(), in: context)
        if let outcome = try idempotencyRecord?.outcome(in: writer) {
            let results = try OperationOutcome(outcome, count: request.operations.count).replay(
                request, in: writer, context, access: plan.access)
            return ModifyOutcome(
                answer: try answer(results, in: writer),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        let stored = try StoredRecords(plan, context, reader: writer)
        var decisions = ModifyDecisions(
            plan: plan, stored: stored, context: context, nowMilliseconds: nowMilliseconds,
            settings: settings)
        decisions.decideEach()
        let quota = try Quota(in: context, reader: writer)
        var hasRefused: Bool
        repeat {
            try decisions.resolveDependents(isAtomic: request.isAtomic, reader: writer)
            hasRefused = try decisions.failUnshareable(writer)
            if let quota, decisions.apply(quota) { hasRefused = true }
        } while hasRefused
        try decisions.completeConflicts(reader: writer)
        let sharing = try decisions.decideSharing(writer)
        let hasWritten = try write(&decisions, sharing, in: writer)
        let results = try decisions.results()
        if decisions.failsAsWhole(isAtomic: request.isAtomic) {
            return ModifyOutcome(
                answer: RecordsModify.Answer(records: results),
                failure: RequestFailure(.atomicFailure, records: results),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        if let idempotencyRecord, decisions.hasSuccess {
            try idempotencyRecord.keep(
                OperationOutcome(results, plan.recordNames).bytes, in: writer,
                nowMilliseconds: nowMilliseconds)
        }
        return ModifyOutcome(
            answer: try answer(results, in: writer),
            hasOutboxEvents: hasWritten
                && (summary.wantsEvents || !sharing.zonesWithShares.isEmpty),
            sharing: decisions.sharingOutcome(after: sharing))
    }

    /// What the request does to which records, as it was sent.
    private func operations() -> [IdempotencyRecord.Operation] {
        request.operations.map {
            IdempotencyRecord.Operation(
                kind: $0.kind.rawValue,
                zoneName: context.zoneName($0.record.zoneID ?? request.zoneID),
                recordName: $0.record.recordName)
        }
    }

    private func answer(
        _ results: [RecordResult], in reader: any StoreReader
    ) throws -> RecordsModify.Answer {
        RecordsModify.Answer(
            records: results,
            syncToken: try context.currentToken(of: request.zoneID, in: reader, signer: signer))
    }

    /// Numbers and stores what was decided, zone by zone in the order of their keys.
    ///
    /// - Returns: Whether there was anything to store.
    private func write(
        _ decisions: inout ModifyDecisions, _ sharing: SharingConsequences,
        in writer: any StoreWriter
    ) throws -> Bool {
        let incarnation = try writer.incarnation
        var hasWritten = false
        var indexing = RecordIndexing()
        for zone in decisions.stored.zones.values.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        {
            let indices = decisions.indicesToWrite(in: zone.name)
            guard !indices.isEmpty else { continue }
            hasWritten = true
            let cascaded = decisions.cascadedNames(in: zone.name)
            let touched = sharing.touched[zone.name] ?? []
            let versions = try writer.takeVersions(
                indices.count + cascaded.count + touched.count, in: zone.key)
            var numbers = versions.lazy.map {
                RecordRow.Number(
                    version: $0, commitVersion: versions.upperBound,
                    changeTag: ChangeTag(version: $0, incarnation: incarnation).text)
            }.makeIterator()
            var report = OutboxReport(
                zoneName: zone.name, user: try context.user(), device: context.caller.device,
                summary: summary)
            if sharing.zonesWithShares.contains(zone.name) {
                report.share = try ShareEvent(before: writer, zone, context)
            }
            for index in indices {
                guard let number = numbers.next() else { break }
                try put(decisions.number(index, number), in: writer, &indexing, &report)
            }
            for names in cascaded.chunks(ofCount: Self.cascadeStep) {
                // Read in steps: a cascade can be larger than what a request may name.
                let rows = try writer.records(named: Array(names), in: zone.key)
                for name in names {
                    guard let number = numbers.next() else { break }
                    guard let old = rows[name], !old.isDeleted else { continue }
                    let row = decisions.tombstone(of: old).numbered(number)
                    try put(.init(row: row, fields: [], old: old), in: writer, &indexing, &report)
                }
            }
            for write in touched {
                guard let number = numbers.next() else { break }
                try put(touched: write, number, in: writer, &indexing, &report)
            }
            // Last, so that it takes along what the others leave behind.
            for share in sharing.ended[zone.name] ?? [] {
                try writer.deleteShare(share.name, in: zone.key)
            }
            try report.share?.enqueue(after: writer, zone)
            try writer.deleteAncestors(
                replacedThrough: versions.upperBound - context.limits.ancestorChanges, in: zone.key)
            try report.enqueue(in: writer)
        }
        return hasWritten
    }

    private static let cascadeStep = 100

    /// Stores a record and everything that other tables derive from it.
    private func put(
        _ write: ModifyDecisions.Write, in writer: any StoreWriter,
        _ indexing: inout RecordIndexing, _ report: inout OutboxReport
    ) throws {
        try writer.put(write.row)
        try indexing.update(write.row, fields: write.fields, old: write.old, in: writer)
        try write.putReferences(in: writer)
        try write.putAssets(in: writer)
        try write.putAncestor(in: writer, limits: context.limits)
        try writer.putSharing(write)
        try report.add(write, in: writer)
    }

    /// Stores what sharing does to a record that the request does not name: its place changes, and not
    /// its content nor its change tag. A share that goes with its root is a record that is deleted.
    private func put(
        touched write: ModifyDecisions.Write, _ number: RecordRow.Number,
        in writer: any StoreWriter, _ indexing: inout RecordIndexing, _ report: inout OutboxReport
    ) throws {
        var write = write
        guard !write.row.isDeleted else {
            write.row = write.row.numbered(number)
            return try put(write, in: writer, &indexing, &report)
        }
        write.row.version = number.version
        write.row.commitVersion = number.commitVersion
        try writer.put(write.row)
        try writer.putSharing(write)
        report.share?.add(write)
    }
}

extension [String] {
    fileprivate func chunks(ofCount count: Int) -> [ArraySlice<String>] {
        stride(from: 0, to: self.count, by: count).map {
            self[$0..<Swift.min($0 + count, self.count)]
        }
    }
}

/// What the store has of the records that a request names, its parents and its targets included.
struct StoredRecords {
    /// The living zones of the request by name.
    private(set) var zones: [String: ZoneRow] = [:]
    /// What the caller may do in them.
    private(set) var rights: [String: ZoneRights] = [:]
    /// Why other zones of the request are not there.
    private var objections: [String: ServiceError] = [:]
    private var rows: [RecordKey: RecordRow] = [:]
    /// The assets of the request that are still there.
    private(set) var assets: Set<BlobName> = []

    /// Reads each zone's records in one call.
    init(_ plan: ModifyPlan, _ context: RequestContext, reader: any StoreReader) throws {
        var names: [String: Set<String>] = [:]
        var room = context.limits.recordBytesPerModify
        for case .ready(let operation) in plan.items {
            names[operation.key.zoneName, default: []].insert(operation.key.name)
            for key in operation.required { names[key.zoneName, default: []].insert(key.name) }
            for blob in operation.assets where !assets.contains(blob) {
                if try reader.asset(blob.sha256)?.blob == blob { assets.insert(blob) }
            }
        }
        for zoneName in Set(plan.items.compactMap(\.zoneName)).union(names.keys) {
            let zone: ZoneRow
            do {
                (zone, rights[zoneName]) = try context.existingZone(named: zoneName, reader)
            } catch let error as ServiceError {
                objections[zoneName] = error
                continue
            }
            zones[zoneName] = zone
            guard let names = names[zoneName] else { continue }
            let found = try reader.records(
                named: Array(names), in: zone.key, room: &room, tooLarge: .modifyTooLarge)
            for (name, row) in found {
                rows[RecordKey(zoneName: zoneName, name: name)] = row
            }
        }
    }

    /// Why there is no such zone; nil where there is.
    func objection(to zoneName: String) -> ServiceError? {
        if zones[zoneName] != nil { return nil }
        return objections[zoneName] ?? .zoneNotFound
    }

    /// The record, if it is there, not deleted, and the caller can see it.
    func living(_ key: RecordKey) -> RecordRow? {
        guard let row = rows[key], !row.isDeleted, canRead(row, key) else { return nil }
        return row
    }

    /// Whether there is such a record, which the caller cannot see.
    func isHidden(_ key: RecordKey) -> Bool {
        guard let row = rows[key], !row.isDeleted else { return false }
        return !canRead(row, key)
    }

    private func canRead(_ row: RecordRow, _ key: RecordKey) -> Bool {
        rights[key.zoneName]?.canRead(row) ?? false
    }
}
