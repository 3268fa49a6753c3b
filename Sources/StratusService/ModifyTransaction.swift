import StratusRecords
import StratusStorage
import StratusWire

/// What a modify request came to.
struct ModifyOutcome: Sendable {
    var answer: RecordsModify.Answer
    /// Set when the request failed as a whole: an atomic zone that was the request's only one.
    var failure: RequestFailure?
    var hasNews = false
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
            return ModifyOutcome(answer: RecordsModify.Answer(records: results))
        }
        let stored = try StoredRecords(plan, reader: writer)
        var decisions = ModifyDecisions(
            plan: plan, stored: stored, context: context, nowMilliseconds: nowMilliseconds)
        decisions.decideEach()
        try decisions.settle(isAtomic: request.isAtomic, reader: writer)
        let hasWritten = try write(&decisions, in: writer)
        let answer = RecordsModify.Answer(records: try decisions.results())
        if decisions.failsAsWhole(isAtomic: request.isAtomic) {
            return ModifyOutcome(
                answer: answer, failure: RequestFailure(.atomicFailure, records: answer.records))
        }
        if let repetition, hasWritten {
            try writer.deleteOutcomes(expiredAt: nowMilliseconds)
            try writer.put(
                outcome: OperationOutcome(answer.records, plan.recordNames).bytes,
                of: repetition.key,
                expiresMilliseconds: nowMilliseconds + ServiceSettings.outcomeSeconds * 1_000)
        }
        return ModifyOutcome(answer: answer, hasNews: hasWritten && !summary.isEmpty)
    }

    /// Numbers and stores what was decided, zone by zone in the order of their keys.
    ///
    /// - Returns: Whether there was anything to store.
    private func write(
        _ decisions: inout ModifyDecisions, in writer: any StoreWriter
    ) throws -> Bool {
        let incarnation = try writer.incarnation
        var hasWritten = false
        var indexing = RecordIndexing()
        for zone in decisions.stored.zones.values.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        {
            let indices = decisions.indicesToWrite(in: zone.name)
            guard !indices.isEmpty else { continue }
            hasWritten = true
            let versions = try writer.takeVersions(indices.count, in: zone.key)
            var changes: [News.Change] = []
            for (index, version) in zip(indices, versions) {
                let write = decisions.number(
                    index, version: version, commitVersion: versions.upperBound,
                    changeTag: ChangeTag(version: version, incarnation: incarnation).text)
                try writer.put(write.row)
                try indexing.update(write.row, fields: write.fields, old: write.old, in: writer)
                if summary.wantsRecords { changes.append(decisions.news(of: index, for: summary)) }
            }
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
    private var rows: [RecordKey: RecordRow] = [:]

    /// Reads each zone's records in one call.
    init(_ plan: ModifyPlan, reader: any StoreReader) throws {
        var names: [String: Set<String>] = [:]
        for case .ready(let operation) in plan.items {
            names[operation.key.zoneName, default: []].insert(operation.key.name)
            for key in operation.required { names[key.zoneName, default: []].insert(key.name) }
        }
        for zoneName in Set(plan.items.compactMap(\.zoneName)).union(names.keys) {
            guard let zone = try reader.livingZone(named: zoneName) else { continue }
            zones[zoneName] = zone
            guard let names = names[zoneName] else { continue }
            for (name, row) in try reader.records(named: Array(names), in: zone.key) {
                rows[RecordKey(zoneName: zoneName, name: name)] = row
            }
        }
    }

    /// The record, if it is there and not deleted.
    func living(_ key: RecordKey) -> RecordRow? {
        guard let row = rows[key], !row.isDeleted else { return nil }
        return row
    }
}
