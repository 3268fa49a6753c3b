import StratusRecords
import StratusStorage
import StratusWire

/// What becomes of each operation of a modify request: decided in memory, written by others.
struct ModifyDecisions {
    enum Decision {
        /// The row as it will be, its fields, and the row as it was.
        case save(RecordRow, fields: [Field], old: RecordRow?)
        case delete(RecordRow, old: RecordRow)
        /// A deletion of what is not there: a success that writes nothing.
        case alreadyGone
        case failed(RecordFailure)
    }

    let plan: ModifyPlan
    let stored: StoredRecords
    let context: RequestContext
    let nowMilliseconds: Int64
    var decisions: [Decision] = []
    private(set) var indexByKey: [RecordKey: Int] = [:]

    init(
        plan: ModifyPlan, stored: StoredRecords, context: RequestContext, nowMilliseconds: Int64
    ) {
        self.plan = plan
        self.stored = stored
        self.context = context
        self.nowMilliseconds = nowMilliseconds
    }

    // MARK: Each operation by itself

    mutating func decideEach() {
        decisions = plan.items.map { item in
            switch item {
            case .refused(let failure, let zoneName):
                var failure = failure
                if let zoneName, stored.zones[zoneName] == nil { failure.error = .zoneNotFound }
                return .failed(failure)
            case .ready(let operation): return decision(operation)
            }
        }
        for (index, item) in plan.items.enumerated() {
            if case .ready(let operation) = item { indexByKey[operation.key] = index }
        }
    }

    private func decision(_ operation: PlannedOperation) -> Decision {
        guard let zone = stored.zones[operation.key.zoneName] else {
            return .failed(failure(operation.key, .zoneNotFound))
        }
        let old = stored.living(operation.key)
        if let error = objection(to: operation, old: old) {
            var failure = failure(operation.key, error)
            if let old, error.code == .conflict || error.code == .exists {
                failure.serverRecord = RecordDictionary(
                    old, in: context.zoneID(zone.name), viewer: context.caller.userRecordName)
            }
            return .failed(failure)
        }
        if let old, isLeaving(operation, old) { return leaving(operation, old) }
        guard !operation.kind.isDeletion else {
            guard let old else { return .alreadyGone }
            return .delete(tombstone(of: old), old: old)
        }
        do {
            let content = try content(
                of: operation, old: operation.kind.isReplacement ? nil : old)
            var row = try row(operation, content, old: old, zone: zone.key)
            try addSharing(to: &row, operation, old: old)
            return .save(row, fields: content.fields, old: old)
        } catch let error as ServiceError {
            return .failed(failure(operation.key, error))
        } catch {
            // Stored bytes that cannot be read: the record cannot be merged, others are not concerned.
            let unreadable = ServiceError(.internalError, "The stored record cannot be read.")
            return .failed(failure(operation.key, unreadable))
        }
    }

    /// Why an operation cannot be done on what is stored; nil when it can.
    private func objection(to operation: PlannedOperation, old: RecordRow?) -> ServiceError? {
        if let old, isLeaving(operation, old) { return nil }
        if let error = sharingObjection(to: operation, old: old) { return error }
        guard let old else {
            switch operation.kind {
            case .update, .replace: return .recordNotFound
            case .create, .forceUpdate, .forceReplace:
                let hasType = operation.recordType != nil && operation.isTypeDeclared
                return hasType ? nil : .invalid("Name the record's type.")
            case .delete, .forceDelete: return nil
            }
        }
        if operation.kind == .create { return .recordExists }
        if context.scope == .public, old.creator != context.caller.userRecordName {
            return .notCreator
        }
        if !operation.kind.isForced {
            guard let tag = operation.changeTag else {
                return operation.kind == .delete ? .staleChangeTag : .untaggedRecordExists
            }
            guard tag == old.changeTag else { return .staleChangeTag }
        }
        guard operation.kind.isDeletion || operation.recordType == old.type else {
            return operation.isTypeDeclared
                ? .invalid("A record keeps its type; delete it first.") : .staleChangeTag
        }
        return nil
    }

    private func row(
        _ operation: PlannedOperation, _ content: PlannedOperation.Content, old: RecordRow?,
        zone: ZoneRow.Key
    ) throws -> RecordRow {
        let user = try context.user()
        let device = context.caller.device
        let keepsRest = !operation.kind.isReplacement
        let parent: String? =
            switch operation.parentChange {
            case .absent: keepsRest ? old?.parent : nil
            case .none: nil
            case .some(let name): name
            }
        return RecordRow(
            zone: zone, name: operation.key.name, type: operation.recordType ?? "", version: 0,
            commitVersion: 0, changeTag: "", isDeleted: false,
            creatorDevice: old?.creatorDevice ?? device,
            createdMilliseconds: old?.createdMilliseconds ?? nowMilliseconds,
            modifiedMilliseconds: nowMilliseconds, creator: old?.creator ?? user, modifier: user,
            modifierDevice: device, parent: parent, shareRoot: old?.shareRoot,
            payload: content.payload, sharing: old?.sharing ?? [])
    }

    /// What to store: made before the transaction, unless the record changed since.
    private func content(
        of operation: PlannedOperation, old: RecordRow?
    ) throws -> PlannedOperation.Content {
        guard let old else { return operation.content }
        if let merged = operation.merged, merged.changeTag == old.changeTag {
            return merged.content
        }
        let content = try PlannedOperation.merge(
            old.payload, with: operation.changes, limits: context.limits)
        guard content.payload.count <= context.limits.recordBytes else {
            throw ServiceError.recordTooLarge
        }
        return content
    }

    func tombstone(of old: RecordRow) -> RecordRow {
        var row = old
        row.isDeleted = true
        row.payload = []
        row.parent = nil
        row.shareRoot = nil
        row.sharing = []
        row.modifiedMilliseconds = nowMilliseconds
        row.modifier = context.caller.userRecordName ?? old.modifier
        row.modifierDevice = context.caller.device
        return row
    }

    func failure(_ key: RecordKey, _ error: ServiceError) -> RecordFailure {
        RecordFailure(
            recordName: key.name, zoneID: context.zoneID(key.zoneName), error: error)
    }

    // MARK: All operations together

    /// Applies what makes operations depend on each other, until nothing changes: references must be
    /// satisfied, and in an atomic zone one failure takes the others with it.
    mutating func settle(isAtomic: Bool, reader: any StoreReader) throws {
        let bonds = try decisions.indices.map { try bond(of: $0, reader: reader) }
        repeat {
            var hasChanged = false
            for index in decisions.indices {
                guard let bond = bonds[index], isViolated(bond, of: index) else { continue }
                decisions[index] = .failed(failure(bond.key, bond.error))
                hasChanged = true
            }
            if isAtomic, failOthers() { hasChanged = true }
            if !hasChanged { return }
        } while true
    }

    /// What an operation's success depends on, looked up once: a chain may need as many passes as it
    /// has links.
    private struct Bond {
        var key: RecordKey
        /// Whether something that the request does not touch forbids it.
        var isBroken: Bool
        /// The operations on its targets, or on the children of the record that it deletes.
        var others: Set<Int>
        var error = ServiceError.referenceViolation
    }

    private func bond(of index: Int, reader: any StoreReader) throws -> Bond? {
        guard case .ready(let operation) = plan.items[index] else { return nil }
        var bond = Bond(key: operation.key, isBroken: false, others: [])
        switch decisions[index] {
        case .save:
            if operation.share != nil { bond.error = .shareWithoutRoot }
            for key in operation.required {
                if let other = indexByKey[key] {
                    bond.others.insert(other)
                } else if stored.living(key) == nil {
                    bond.isBroken = true
                }
            }
        case .delete(_, let old):
            let children = try reader.children(
                of: old.name, in: old.zone, limit: decisions.count + 1)
            for name in children {
                let child = RecordKey(zoneName: operation.key.zoneName, name: name)
                if let other = indexByKey[child] {
                    bond.others.insert(other)
                } else {
                    bond.isBroken = true
                }
            }
        case .alreadyGone, .failed: return nil
        }
        return bond
    }

    /// Whether an operation would leave a parent or a VALIDATE reference without its target.
    private func isViolated(_ bond: Bond, of index: Int) -> Bool {
        switch decisions[index] {
        case .save: bond.isBroken || !bond.others.allSatisfy(willExist)
        case .delete(_, let old):
            bond.isBroken || !bond.others.allSatisfy { leaves($0, parent: old.name) }
        case .alreadyGone, .failed: false
        }
    }

    private func willExist(_ index: Int) -> Bool {
        switch decisions[index] {
        case .save: return true
        case .delete, .alreadyGone: return false
        case .failed:
            guard case .ready(let operation) = plan.items[index] else { return false }
            return stored.living(operation.key) != nil
        }
    }

    /// Whether a child is deleted with its parent or given another one.
    private func leaves(_ index: Int, parent: String) -> Bool {
        switch decisions[index] {
        case .save(let row, _, _): row.parent != parent
        case .delete, .alreadyGone: true
        case .failed: false
        }
    }

    /// Fails what else a request wanted of a custom zone in which something failed.
    private mutating func failOthers() -> Bool {
        var failing: Set<String> = []
        for (index, item) in plan.items.enumerated() {
            if case .failed = decisions[index], let zoneName = item.zoneName, isAtomicZone(zoneName)
            {
                failing.insert(zoneName)
            }
        }
        var hasChanged = false
        for (index, item) in plan.items.enumerated() {
            guard case .ready(let operation) = item, failing.contains(operation.key.zoneName)
            else { continue }
            if case .failed = decisions[index] { continue }
            decisions[index] = .failed(failure(operation.key, .atomicFailure))
            hasChanged = true
        }
        return hasChanged
    }

    private func isAtomicZone(_ name: String) -> Bool {
        name != ZoneID.defaultZoneName && stored.zones[name] != nil
    }

    /// Whether the request is about one atomic zone, in which something failed.
    func failsAsWhole(isAtomic: Bool) -> Bool {
        let zoneNames = Set(plan.items.map(\.zoneName))
        guard isAtomic, zoneNames.count == 1, case let zoneName?? = zoneNames.first,
            isAtomicZone(zoneName)
        else { return false }
        return decisions.contains { if case .failed = $0 { true } else { false } }
    }

    // MARK: Writing

    func indicesToWrite(in zoneName: String) -> [Int] {
        plan.items.indices.filter { index in
            guard plan.items[index].zoneName == zoneName else { return false }
            switch decisions[index] {
            case .save, .delete: return true
            case .alreadyGone, .failed: return false
            }
        }
    }

    /// A record as it is to be stored, with what other tables derive from it.
    struct Write {
        var row: RecordRow
        /// All its fields; empty for a tombstone.
        var fields: [Field]
        /// The living record before.
        var old: RecordRow?
    }

    /// Gives a row its versions and tag, and returns it as it is to be stored.
    mutating func number(
        _ index: Int, version: Int64, commitVersion: Int64, changeTag: String
    ) -> Write {
        func numbered(_ row: RecordRow) -> RecordRow {
            var row = row
            row.version = version
            row.commitVersion = commitVersion
            row.changeTag = changeTag
            return row
        }
        switch decisions[index] {
        case .save(let row, let fields, let old):
            let row = numbered(row)
            decisions[index] = .save(row, fields: fields, old: old)
            return Write(row: row, fields: fields, old: old)
        case .delete(let row, let old):
            let row = numbered(row)
            decisions[index] = .delete(row, old: old)
            return Write(row: row, fields: [], old: old)
        case .alreadyGone, .failed:
            preconditionFailure("Only what indicesToWrite(in:) names is numbered.")
        }
    }

    /// What subscribers are told of a written row.
    func news(of index: Int, for summary: SubscriptionSummary) -> News.Change {
        let row: RecordRow
        let reason: NotificationPayload.Reason
        switch decisions[index] {
        case .save(let new, _, let old):
            (row, reason) = (new, old == nil ? .recordCreated : .recordUpdated)
        case .delete(_, let old):
            (row, reason) = (old, .recordDeleted)
        case .alreadyGone, .failed:
            preconditionFailure("Only what indicesToWrite(in:) names is news.")
        }
        return News.Change(
            recordName: row.name, recordType: row.type, reason: reason,
            row: summary.wantsRow(ofType: row.type, reason) ? row : nil)
    }

    /// One result per operation, in the request's order.
    func results() throws -> [RecordResult] {
        try zip(plan.items, decisions).map { item, decision in
            switch (decision, item) {
            case (.save(let row, _, _), .ready(let operation)) where operation.kind.isDeletion:
                // The caller left the share; for him it is gone.
                return .deleted(
                    RecordResult.Tombstone(
                        recordName: row.name,
                        recordType: context.caller.wantsExtensions ? row.type : nil,
                        zoneID: context.zoneID(operation.key.zoneName)))
            case (.save(let row, _, _), .ready(let operation)):
                return try RecordResult(
                    row, in: context.zoneID(operation.key.zoneName), keys: operation.desiredKeys,
                    numbersAsStrings: operation.numbersAsStrings,
                    tellsType: context.caller.wantsExtensions,
                    viewer: context.caller.userRecordName)
            case (.delete(let row, _), .ready(let operation)):
                return try RecordResult(
                    row, in: context.zoneID(operation.key.zoneName), keys: nil,
                    numbersAsStrings: false, tellsType: context.caller.wantsExtensions, viewer: nil)
            case (.alreadyGone, .ready(let operation)):
                return .deleted(
                    RecordResult.Tombstone(
                        recordName: operation.key.name,
                        zoneID: context.zoneID(operation.key.zoneName)))
            case (.failed(let failure), _): return .failure(failure)
            case (_, .refused(let failure, _)): return .failure(failure)
            }
        }
    }
}
