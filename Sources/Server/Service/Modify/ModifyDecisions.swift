import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Decides each operation of a modify request in memory; nothing is written here.
struct ModifyDecisions {
    enum Decision {
        /// The row to store, its fields, and the row as it was.
        case save(RecordRow, fields: [Field], old: RecordRow?)
        case delete(RecordRow, old: RecordRow)
        /// A deletion of a record that does not exist: a success that writes nothing.
        case alreadyGone
        case failed(RecordFailure)
    }

    let plan: ModifyPlan
    let stored: StoredRecords
    let context: RequestContext
    let nowMilliseconds: Int64
    /// Makes the identifiers of participants.
    let world: World
    let logger: Logger
    var decisions: [Decision] = []
    private(set) var indexByKey: [RecordKey: Int] = [:]
    /// For each record of the request, the saves that need it to exist.
    private(set) var requirers: [RecordKey: [Int]] = [:]
    /// The references with an action of each save, including those of fields that were not sent.
    private(set) var references: [Set<ActingReference>] = []
    /// The results of earlier steps about large cascades.
    var claim: CascadeClaim?
    /// The records that are deleted together with the named ones.
    var cascade = Cascade()
    /// The shares among them.
    var sharesGoing: Set<String> = []

    init(
        plan: ModifyPlan, stored: StoredRecords, context: RequestContext, nowMilliseconds: Int64,
        world: World, logger: Logger, claim: CascadeClaim? = nil
    ) {
        self.claim = claim
        self.plan = plan
        self.stored = stored
        self.context = context
        self.nowMilliseconds = nowMilliseconds
        self.world = world
        self.logger = logger
    }

    // MARK: Each operation by itself

    mutating func decideEach() {
        decisions = plan.items.map { item in
            switch item {
            case .refused(let failure, let zoneName):
                var failure = failure
                if let zoneName, let error = stored.zoneError(for: zoneName) {
                    failure.error = error
                }
                return .failed(failure)
            case .ready(let operation): return decision(operation)
            }
        }
        for (index, item) in plan.items.enumerated() {
            if case .ready(let operation) = item { indexByKey[operation.key] = index }
        }
        for (index, item) in plan.items.enumerated() {
            guard case .ready(let operation) = item else { continue }
            for key in operation.required where indexByKey[key] != nil {
                requirers[key, default: []].append(index)
            }
        }
        references = decisions.map { decision in
            guard case .save(_, let fields, _) = decision else { return [] }
            return ActingReference.all(in: fields)
        }
        for (index, item) in plan.items.enumerated()
        where references[index].count > context.limits.referencesPerRecord {
            guard case .ready(let operation) = item else { continue }
            decisions[index] = .failed(
                failure(
                    operation.key,
                    .tooManyReferences(limit: context.limits.referencesPerRecord)))
        }
    }

    private func decision(_ operation: PlannedOperation) -> Decision {
        guard let zone = stored.zones[operation.key.zoneName] else {
            return .failed(
                failure(
                    operation.key, stored.zoneError(for: operation.key.zoneName) ?? .zoneNotFound))
        }
        if stored.goingAway.contains(operation.key) {
            return operation.kind.isDeletion && !stored.isUndecided(operation.key)
                ? .alreadyGone : .failed(failure(operation.key, .deletionUnderWay))
        }
        let old = stored.living(operation.key)
        if let error = refusal(of: operation, old: old) {
            var failure = failure(operation.key, error)
            if let old, error.code == .conflict,
                plan.access[old.type].mayRead(old)
            {
                failure.serverRecord = RecordDictionary(
                    old, in: context.zoneID(zone.name), viewer: context.caller.viewer)
            }
            return .failed(failure)
        }
        if let refusal = operation.assetRefusal {
            return .failed(failure(operation.key, refusal))
        }
        guard operation.assets.allSatisfy(stored.assets.contains) else {
            return .failed(failure(operation.key, .collectedAsset))
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
            return unreadable(
                operation,
                "The stored record cannot be read; the operator can look at it with stratus doctor.",
                error)
        }
    }

    /// The result where stored bytes cannot be read: this operation fails, and the others continue.
    func unreadable(
        _ operation: PlannedOperation, _ sentence: String, _ error: any Error
    ) -> Decision {
        logger.error(
            "A stored record cannot be read, so an operation on it was refused. Run stratus doctor.",
            metadata: [
                "database": "\(context.address)", "zone": "\(operation.key.zoneName)",
                "recordName": "\(operation.key.name)", "error": "\(error)",
            ])
        return .failed(failure(operation.key, ServiceError(.internalError, sentence)))
    }

    /// Why an operation cannot be done on what is stored; nil when it can.
    private func refusal(of operation: PlannedOperation, old: RecordRow?) -> ServiceError? {
        if let old, isLeaving(operation, old) { return nil }
        if let error = sharingRefusal(of: operation, old: old) { return error }
        guard let old else {
            switch operation.kind {
            case .update, .replace: return .recordNotFound
            case .create, .forceUpdate, .forceReplace:
                guard operation.isTypeDeclared, let recordType = operation.recordType else {
                    return .invalid("The record has no type; name it in recordType.")
                }
                return plan.access[recordType].mayCreate ? nil : .createNotPermitted
            case .delete, .forceDelete: return nil
            }
        }
        if operation.kind == .create { return .recordExists }
        guard plan.access[old.type].mayWrite(old) else { return .writeNotPermitted }
        if !operation.kind.isForced {
            guard let tag = operation.changeTag else {
                return operation.kind == .delete ? .staleChangeTag : .recordExists
            }
            guard tag == old.changeTag else { return .staleChangeTag }
        }
        guard operation.kind.isDeletion || operation.recordType == old.type else {
            return operation.isTypeDeclared
                ? .invalid(
                    "The stored record has the type \(old.type) and keeps it; delete it first.")
                : .staleChangeTag
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

    /// The content to store: prepared before the transaction, unless the record changed since.
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
            throw ServiceError.recordTooLarge(limitBytes: context.limits.recordBytes)
        }
        return content
    }

    func tombstone(of old: RecordRow) -> RecordRow {
        old.tombstone(
            modifier: context.caller.userRecordName ?? old.modifier,
            device: context.caller.device, milliseconds: nowMilliseconds)
    }

    func failure(_ key: RecordKey, _ error: ServiceError) -> RecordFailure {
        RecordFailure(
            recordName: key.name, zoneID: context.zoneID(key.zoneName), error: error)
    }

    /// Adds the ancestors to conflicts, and leaves out records that would make the answer too large: a client looks up
    /// the record that is missing.
    mutating func completeConflicts(reader: any StoreReader) throws {
        var room = context.limits.changedBytesPerAnswer
        for (index, item) in plan.items.enumerated() {
            guard case .failed(var failure) = decisions[index], failure.serverRecord != nil,
                case .ready(let operation) = item, let row = stored.living(operation.key)
            else { continue }
            room -= row.payload.count
            if room < 0 {
                failure.serverRecord = nil
            } else if context.caller.wantsExtensions, let tag = operation.changeTag,
                let ancestor = try reader.ancestor(of: row, tagged: tag)
            {
                room -= ancestor.payload.count
                failure.ancestorRecord = RecordDictionary(
                    ancestor, in: context.zoneID(operation.key.zoneName),
                    viewer: context.caller.viewer)
            }
            decisions[index] = .failed(failure)
        }
    }

    // MARK: Room

    /// The bytes that an operation adds to the database; negative if it frees some.
    func growthBytes(of index: Int) -> Int64 {
        switch decisions[index] {
        case .save(let row, _, let old): row.sizeBytes - (old?.sizeBytes ?? 0)
        case .delete(_, let old): -old.sizeBytes
        case .alreadyGone, .failed: 0
        }
    }

    /// Fails an operation that was decided to succeed.
    mutating func fail(_ index: Int, _ error: ServiceError) {
        guard case .ready(let operation) = plan.items[index] else { return }
        decisions[index] = .failed(failure(operation.key, error))
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

    /// Whether any operation succeeded, including those that had nothing to do.
    var hasSuccess: Bool {
        decisions.contains { if case .failed = $0 { false } else { true } }
    }

    /// The records of a zone that are deleted without having been named.
    func cascadedNames(in zoneName: String) -> [String] {
        cascade.unnamed.lazy.filter { $0.zoneName == zoneName }.map(\.name)
    }

    /// Whether more records are deleted than fit in one transaction: those that are not named are deleted in steps.
    var isLongDeletion: Bool { cascade.unnamedCount > context.limits.recordsPerCascade }

    /// The records of a zone that the request itself deletes without having been named. In a long deletion those are
    /// only the shares, so that their participants lose access immediately.
    func namesDeletedAtOnce(in zoneName: String) -> [String] {
        guard isLongDeletion else { return cascadedNames(in: zoneName) }
        return sharesGoing.filter {
            let key = RecordKey(zoneName: zoneName, name: $0)
            return cascade.contains(key) && !cascade.isNamed(key)
        }
        .sorted()
    }

    /// The records of a zone that are named to be deleted and are deleted.
    func namesDeleted(in zoneName: String) -> [String] {
        indexByKey.compactMap { key, index in
            guard key.zoneName == zoneName, case .delete = decisions[index] else { return nil }
            return key.name
        }
    }

    /// The row that an operation of `indicesToWrite(in:)` stores.
    func write(of index: Int) -> RecordWrite {
        switch decisions[index] {
        case .save(let row, let fields, let old):
            RecordWrite(row: row, fields: fields, references: references[index], old: old)
        case .delete(let row, let old):
            RecordWrite(row: row, fields: [], references: [], old: old)
        case .alreadyGone, .failed:
            preconditionFailure("Only what indicesToWrite(in:) names is written.")
        }
    }

    /// Notes the row as it was stored, with its version and change tag.
    mutating func setStored(_ row: RecordRow, of index: Int) {
        switch decisions[index] {
        case .save(_, let fields, let old): decisions[index] = .save(row, fields: fields, old: old)
        case .delete(_, let old): decisions[index] = .delete(row, old: old)
        case .alreadyGone, .failed: break
        }
    }

    /// One result per operation, in the request's order.
    func results() throws -> [RecordResult] {
        try zip(plan.items, decisions).map { item, decision in
            switch (decision, item) {
            case (.save(let row, _, _), .ready(let operation)) where operation.kind.isDeletion:
                // The caller left the share: to the caller it is deleted.
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
                    viewer: context.caller.viewer)
            case (.delete(let row, _), .ready(let operation)):
                return try RecordResult(
                    row, in: context.zoneID(operation.key.zoneName), keys: nil,
                    numbersAsStrings: false, tellsType: context.caller.wantsExtensions,
                    tellsTag: context.caller.wantsExtensions, viewer: context.caller.viewer)
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
