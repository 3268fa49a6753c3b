import StratusRecords
import StratusStorage
import StratusWire

/// Decides and writes the operations of one request inside one transaction, zone by zone.
struct RecordSaving {
    let writer: any StoreWriter
    let context: RequestContext
    let subscriptions: SubscriptionSummary
    let nowMilliseconds: Int64

    /// What will happen to one record of a zone.
    private enum Decision {
        /// The row to write, still without its version, and the row before.
        case write(RecordRow, before: RecordRow?)
        /// What was asked for is the case already.
        case nothing
        case fail(ServiceError, server: RecordRow?)
    }

    /// One result per operation, in the request's order.
    func apply(
        _ operations: [PreparedOperation], of request: RecordsModify.Request
    ) throws -> [RecordResult] {
        var results = operations.map {
            RecordResult($0.target, failedWith: $0.error ?? .zoneNotFound, in: context)
        }
        var zoneNames: [String] = []
        for case let name? in operations.map(\.target.zoneName) where !zoneNames.contains(name) {
            zoneNames.append(name)
        }
        for zoneName in zoneNames {
            let indices = operations.indices.filter { operations[$0].target.zoneName == zoneName }
            guard let zone = try writer.livingZone(named: zoneName) else {
                for index in indices {
                    results[index] = RecordResult(
                        operations[index].target, failedWith: .zoneNotFound, in: context)
                }
                continue
            }
            let isAtomic = request.isAtomic && zoneName != ZoneID.defaultZoneName
            let ofZone = try apply(
                indices.map { operations[$0] }, in: zone, isAtomic: isAtomic)
            for (index, result) in zip(indices, ofZone) { results[index] = result }
        }
        return results
    }

    /// Whether anything was changed that a repetition must not change again.
    func hasWritten(_ results: [RecordResult]) -> Bool {
        results.contains { $0.failure == nil }
    }

    private func apply(
        _ operations: [PreparedOperation], in zone: ZoneRow, isAtomic: Bool
    ) throws -> [RecordResult] {
        let names = operations.map(\.target.recordName)
        let rows = try writer.records(
            named: names + operations.flatMap(\.requiredNames), in: zone.key)
        var decisions = try operations.map { try decide($0, rows[$0.target.recordName], zone) }
        refuseBrokenReferences(operations, &decisions, rows)
        let hasFailed = decisions.contains { if case .fail = $0 { true } else { false } }
        if isAtomic, hasFailed {
            return zip(operations, decisions).map { operation, decision in
                guard case .fail(let error, let server) = decision else {
                    return RecordResult(operation.target, failedWith: .atomicFailure, in: context)
                }
                return RecordResult(
                    operation.target, failedWith: error, in: context, server: server)
            }
        }
        return try write(decisions, operations, in: zone)
    }

    // MARK: Deciding

    private func decide(
        _ operation: PreparedOperation, _ stored: RecordRow?, _ zone: ZoneRow
    ) throws -> Decision {
        let living = stored.flatMap { $0.isDeleted ? nil : $0 }
        if let error = operation.error { return .fail(error, server: living) }
        if let refusal = refusal(of: operation, living) { return refusal }
        if operation.kind.isDeletion {
            guard let living else { return .nothing }
            return .write(tombstone(of: living), before: living)
        }
        let type = operation.recordType ?? ""
        if let living, living.type != type {
            return .fail(.invalid("A record keeps its type."), server: living)
        }
        var row = try merged(operation, living, type, zone)
        if row.payload.count > context.limits.recordBytes {
            return .fail(.recordTooLarge, server: nil)
        }
        switch operation.parent {
        case .absent: break
        case .none: row.parent = nil
        case .some(let parent): row.parent = parent
        }
        return .write(row, before: living)
    }

    /// Checks what must hold before the operation: existence, change tag, the right to write.
    private func refusal(of operation: PreparedOperation, _ living: RecordRow?) -> Decision? {
        switch operation.kind {
        case .create:
            if let living { return .fail(.recordExists, server: living) }
        case .update, .replace:
            guard let living else { return .fail(.recordNotFound, server: nil) }
            guard let tag = operation.changeTag else {
                return .fail(.untaggedRecordExists, server: living)
            }
            guard tag == living.changeTag else { return .fail(.staleChangeTag, server: living) }
        case .delete:
            if let living, operation.changeTag != living.changeTag {
                return .fail(.staleChangeTag, server: living)
            }
        case .forceUpdate, .forceReplace, .forceDelete: break
        }
        if context.scope == .public, let living, living.creator != context.caller.userRecordName {
            return .fail(.notCreator, server: nil)
        }
        return nil
    }

    private func merged(
        _ operation: PreparedOperation, _ living: RecordRow?, _ type: String, _ zone: ZoneRow
    ) throws -> RecordRow {
        let user = context.caller.userRecordName ?? ""
        var row =
            living
            ?? RecordRow(
                zone: zone.key, name: operation.target.recordName, type: type, version: 0,
                commitVersion: 0, changeTag: "", isDeleted: false,
                creatorDevice: context.caller.device, createdMilliseconds: nowMilliseconds,
                modifiedMilliseconds: nowMilliseconds, creator: user, modifier: user,
                modifierDevice: context.caller.device, parent: nil, shareRoot: nil, payload: [])
        row.modifiedMilliseconds = nowMilliseconds
        row.modifier = user
        row.modifierDevice = context.caller.device
        if let payload = operation.payload {
            row.payload = payload
        } else {
            row.payload = try merge(operation.fields, into: living?.payload)
        }
        return row
    }

    /// The stored fields with the given ones set and the explicitly empty ones cleared.
    private func merge(_ changes: [Field], into payload: [UInt8]?) throws -> [UInt8] {
        var fields = try payload.map { try RecordFields.encoded($0).values() } ?? []
        let positions = Dictionary(
            fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for change in changes {
            if let position = positions[change.name] {
                fields[position] = change
            } else {
                fields.append(change)
            }
        }
        return RecordFields.values(fields.filter { $0.value != nil }).encoded()
    }

    private func tombstone(of living: RecordRow) -> RecordRow {
        var row = living
        row.isDeleted = true
        row.payload = []
        row.parent = nil
        row.modifiedMilliseconds = nowMilliseconds
        row.modifier = context.caller.userRecordName ?? ""
        row.modifierDevice = context.caller.device
        return row
    }

    /// Fails what names a record that will not be there; what depended on that fails in turn.
    private func refuseBrokenReferences(
        _ operations: [PreparedOperation], _ decisions: inout [Decision],
        _ rows: [String: RecordRow]
    ) {
        guard operations.contains(where: { !$0.requiredNames.isEmpty }) else { return }
        var present = Set(rows.values.filter { !$0.isDeleted }.map(\.name))
        for case .write(let row, _) in decisions {
            if row.isDeleted { present.remove(row.name) } else { present.insert(row.name) }
        }
        var isSettled = false
        while !isSettled {
            isSettled = true
            for index in operations.indices {
                guard case .write(_, let before) = decisions[index],
                    !operations[index].requiredNames.allSatisfy(present.contains)
                else { continue }
                decisions[index] = .fail(.referenceViolation, server: nil)
                if before == nil { present.remove(operations[index].target.recordName) }
                isSettled = false
            }
        }
    }

    // MARK: Writing

    private func write(
        _ decisions: [Decision], _ operations: [PreparedOperation], in zone: ZoneRow
    ) throws -> [RecordResult] {
        let count = decisions.count { if case .write = $0 { true } else { false } }
        let versions = count > 0 ? try writer.takeVersions(count, in: zone.key) : nil
        let incarnation = try writer.incarnation
        let zoneID = context.zoneID(zone.name)
        var next = versions?.lowerBound ?? 0
        var changes: [News.Change] = []
        let results = try zip(decisions, operations).map { decision, operation in
            switch decision {
            case .fail(let error, let server):
                return RecordResult(
                    operation.target, failedWith: error, in: context, server: server)
            case .nothing:
                return RecordResult.deleted(
                    .init(recordName: operation.target.recordName, zoneID: zoneID))
            case .write(var row, let before):
                row.version = next
                row.commitVersion = versions?.upperBound ?? next
                row.changeTag = ChangeTag(version: next, incarnation: incarnation).text
                next += 1
                try writer.put(row)
                if subscriptions.wantsRecords { changes.append(news(of: row, before: before)) }
                return try RecordResult(
                    row, in: zoneID, keys: operation.desiredKeys,
                    tellsType: context.caller.wantsExtensions)
            }
        }
        if count > 0, !subscriptions.isEmpty {
            let news = News(
                zoneName: zone.name, user: context.caller.userRecordName ?? "",
                device: context.caller.device, changes: changes)
            try writer.enqueue(news.bytes)
        }
        return results
    }

    private func news(of row: RecordRow, before: RecordRow?) -> News.Change {
        let reason: NotificationPayload.Reason =
            row.isDeleted ? .recordDeleted : before == nil ? .recordCreated : .recordUpdated
        let isWanted = subscriptions.wantsRow(ofType: row.type, reason)
        return News.Change(
            recordName: row.name, recordType: row.type, reason: reason,
            row: isWanted ? (row.isDeleted ? before : row) : nil)
    }
}
