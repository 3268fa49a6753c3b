import StratusRecords
import StratusStorage
import StratusWire

/// What a modify request came to.
struct ModifyOutcome: Sendable {
    var answer: RecordsModify.Answer
    /// Set when the request failed as a whole: an atomic zone that was the request's only one.
    var failure: RequestFailure?
    var hasNews = false
    var sharing = SharingOutcome()
}

/// The part of a modify request that runs inside the store's transaction: read, decide, write.
struct ModifyTransaction: Sendable {
    let request: RecordsModify.Request
    let plan: ModifyPlan
    let context: RequestContext
    let summary: SubscriptionSummary
    let told: Notifications.Told
    let nowMilliseconds: Int64

    func run(in writer: any StoreWriter) throws -> ModifyOutcome {
        try told.dequeue(in: writer)
        let repetition = try OperationOutcome.Repetition(request, in: context)
        if let repetition, let bytes = try writer.outcome(of: repetition.key) {
            let results = try OperationOutcome(bytes: bytes).replay(request, in: writer, context)
            return ModifyOutcome(
                answer: RecordsModify.Answer(records: results),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        let stored = try StoredRecords(plan, context, reader: writer)
        var decisions = ModifyDecisions(
            plan: plan, stored: stored, context: context, nowMilliseconds: nowMilliseconds)
        decisions.decideEach()
        repeat {
            try decisions.settle(isAtomic: request.isAtomic, reader: writer)
        } while try decisions.failUnshareable(writer)
        let sharing = try decisions.settleSharing(writer)
        let hasWritten = try write(&decisions, sharing, in: writer)
        let answer = RecordsModify.Answer(records: try decisions.results())
        if decisions.failsAsWhole(isAtomic: request.isAtomic) {
            return ModifyOutcome(
                answer: answer, failure: RequestFailure(.atomicFailure, records: answer.records),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        if let repetition, hasWritten {
            try writer.deleteOutcomes(expiredAt: nowMilliseconds)
            try writer.put(
                outcome: OperationOutcome(answer.records, plan.recordNames).bytes,
                of: repetition.key,
                expiresMilliseconds: nowMilliseconds + ServiceSettings.outcomeSeconds * 1_000)
        }
        return ModifyOutcome(
            answer: answer,
            hasNews: hasWritten && (!summary.isEmpty || !sharing.zonesWithShares.isEmpty),
            sharing: decisions.sharingOutcome())
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
        for zone in decisions.stored.zones.values.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        {
            let indices = decisions.indicesToWrite(in: zone.name)
            guard !indices.isEmpty else { continue }
            hasWritten = true
            let touched = sharing.touched[zone.name] ?? []
            let versions = try writer.takeVersions(indices.count + touched.count, in: zone.key)
            var changes: [News.Change] = []
            var shares: [ModifyDecisions.Write] = []
            var shareNews =
                try sharing.zonesWithShares.contains(zone.name)
                ? ShareNews(before: writer, zone, context) : nil
            for (index, version) in zip(indices, versions) {
                let write = decisions.number(
                    index, version: version, commitVersion: versions.upperBound,
                    changeTag: ChangeTag(version: version, incarnation: incarnation).text)
                try writer.put(write.row)
                try writer.putSharing(write)
                if write.row.type == ShareDictionary.recordType { shares.append(write) }
                shareNews?.add(write)
                if summary.wantsRecords { changes.append(decisions.news(of: index, for: summary)) }
            }
            for (write, version) in zip(touched, versions.suffix(touched.count)) {
                var write = write
                write.row.version = version
                write.row.commitVersion = versions.upperBound
                if write.row.isDeleted {
                    write.row.changeTag = ChangeTag(version: version, incarnation: incarnation).text
                }
                try writer.put(write.row)
                try writer.putSharing(write)
                if write.row.type == ShareDictionary.recordType { shares.append(write) }
                shareNews?.add(write)
            }
            try writer.endShares(shares)
            try shareNews?.enqueue(after: writer, zone)
            guard !summary.isEmpty else { continue }
            let news = News(
                zoneName: zone.name, user: try context.user(), device: context.caller.device,
                changes: changes)
            try writer.enqueue(news.bytes)
        }
        return hasWritten
    }
}

/// What the store has of the records that a request names, its parents and its targets included.
struct StoredRecords {
    /// The living zones of the request by name.
    private(set) var zones: [String: ZoneRow] = [:]
    /// What the caller may do in them.
    private(set) var rights: [String: ZoneRights] = [:]
    private var rows: [RecordKey: RecordRow] = [:]

    /// Reads each zone's records in one call.
    init(_ plan: ModifyPlan, _ context: RequestContext, reader: any StoreReader) throws {
        var names: [String: Set<String>] = [:]
        for case .ready(let operation) in plan.items {
            names[operation.key.zoneName, default: []].insert(operation.key.name)
            for key in operation.required { names[key.zoneName, default: []].insert(key.name) }
        }
        for zoneName in Set(plan.items.compactMap(\.zoneName)).union(names.keys) {
            guard let zone = try context.livingZone(named: zoneName, reader) else { continue }
            zones[zoneName] = zone.row
            rights[zoneName] = zone.rights
            guard let names = names[zoneName] else { continue }
            for (name, row) in try reader.records(named: Array(names), in: zone.row.key) {
                rows[RecordKey(zoneName: zoneName, name: name)] = row
            }
        }
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
