import Algorithms
import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// The result of a modify request.
struct ModifyOutcome: Sendable {
    var answer: RecordsModify.Answer
    /// Set when the request failed as a whole: an atomic zone that was the request's only one.
    var failure: RequestFailure?
    var sharing = SharingOutcome()
    /// Whether further steps follow (``LongChanges``).
    var hasLongChange = false
    /// How many records were deleted, those that were deleted with a named one included.
    var deletions = 0
    /// Records that were read to move records into a share or out of one.
    var carriedRead = 0
    /// About how many records are moved.
    var carriedWritten = 0
}

/// The work that is left after a modify request's commit.
struct SharingOutcome: Sendable {
    /// Short GUIDs that were made and not needed, or belonged to shares that ended.
    var unusedShortGUIDs: [String] = []

    func forgetShortGUIDs(_ directory: any Directory, _ logger: Logger) async {
        guard !unusedShortGUIDs.isEmpty else { return }
        do {
            try await directory.deleteShortGUIDs(unusedShortGUIDs)
        } catch {
            // The links stay, but lead nowhere: the owner's database has no such share. The request itself succeeded.
            logger.warning(
                "The links of ended shares could not be removed from the directory. They stay there, and open nothing.",
                metadata: ["count": "\(unusedShortGUIDs.count)", "error": "\(error)"])
        }
    }
}

/// The part of a modify request that runs inside the store's transaction: read, decide, write.
struct ModifyTransaction: Sendable {
    let request: RecordsModify.Request
    let plan: ModifyPlan
    let context: RequestContext
    let nowMilliseconds: Int64
    let world: World
    let logger: Logger
    /// Makes the change tokens of callers who ask for one.
    let signer: TokenSigner

    /// - Parameter claim: The results of earlier steps about large cascades.
    /// - Throws: ``UnknownCascade`` too.
    func run(
        in records: inout RecordWriter, claim: CascadeClaim? = nil
    ) throws -> ModifyOutcome {
        let writer = records.transaction
        let idempotencyRecord = try IdempotencyRecord(
            request.operationID, orSigned: context.caller.signedRequest, of: operations(),
            in: context)
        if let outcome = try idempotencyRecord?.outcome(in: writer) {
            let results = try OperationOutcome(outcome, count: request.operations.count).replay(
                request, in: writer, context, access: plan.access)
            return ModifyOutcome(
                answer: try answer(results, in: writer),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        // The rows are held until the decisions are written; another attempt reads them again.
        let held = context.memory?.sibling()
        defer { withExtendedLifetime(held) {} }
        let stored = try StoredRecords(
            plan, context, reader: writer, claim: claim?.text, hold: { held?.take($0) })
        var decisions = ModifyDecisions(
            plan: plan, stored: stored, context: context, nowMilliseconds: nowMilliseconds,
            world: world, logger: logger, claim: claim)
        decisions.decideEach()
        let quota = try Quota(in: context, reader: writer)
        var hasRefused: Bool
        repeat {
            try decisions.decideTogether(isAtomic: request.isAtomic, reader: writer)
            hasRefused = try decisions.failUnshareable(writer)
            if let quota, decisions.apply(quota) { hasRefused = true }
        } while hasRefused
        try decisions.completeConflicts(reader: writer)
        let sharing = try decisions.placeUnderShares(writer)
        try write(&decisions, sharing, claim, in: &records)
        let results = try decisions.results()
        if decisions.failsAsWhole(isAtomic: request.isAtomic) {
            return ModifyOutcome(
                answer: RecordsModify.Answer(records: results),
                failure: RequestFailure(.atomicFailure, records: results),
                sharing: SharingOutcome(unusedShortGUIDs: plan.shortGUIDs))
        }
        if let idempotencyRecord, decisions.hasSuccess {
            try idempotencyRecord.keep(
                OperationOutcome(results, plan.recordNames, of: request.operations).bytes,
                format: IdempotencyRecord.formatWithOmittedNames, in: writer,
                nowMilliseconds: nowMilliseconds)
        }
        return ModifyOutcome(
            answer: try answer(results, in: writer),
            sharing: decisions.sharingOutcome(after: sharing),
            hasLongChange: records.hasLongChange, deletions: records.tombstoneCount,
            carriedRead: sharing.recordsRead, carriedWritten: sharing.recordsWritten)
    }

    /// The operations as they were sent: what is done to which record.
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

    /// Stores the decided rows, zone by zone in the order of their keys.
    private func write(
        _ decisions: inout ModifyDecisions, _ sharing: SharingConsequences,
        _ claim: CascadeClaim?, in records: inout RecordWriter
    ) throws {
        for zone in decisions.stored.zones.values.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        {
            let indices = decisions.indicesToWrite(in: zone.name)
            guard !indices.isEmpty else { continue }
            let cascaded = decisions.namesDeletedAtOnce(in: zone.name)
            let touched = sharing.touched[zone.name] ?? []
            try records.write(
                indices.count + cascaded.count + touched.count, in: zone,
                isShared: sharing.zonesWithShares.contains(zone.name)
            ) { records in
                for index in indices {
                    decisions.setStored(try records.put(decisions.write(of: index)), of: index)
                }
                for names in cascaded.chunks(ofCount: Self.cascadeStep) {
                    // Read in pieces: a cascade can be larger than what a request may name.
                    let rows = try records.transaction.records(named: Array(names), in: zone.key)
                    for name in names {
                        guard let old = rows[name], !old.isDeleted else { continue }
                        try records.put(
                            RecordWrite(
                                row: decisions.tombstone(of: old), fields: [], references: [],
                                old: old))
                    }
                }
                for write in touched { try records.move(write) }
            }
            for name in sharing.later[zone.name] ?? [] {
                try records.transaction.put(
                    LongChangeRow(zone: zone.key, kind: .placement, name: name))
                records.hasLongChange = true
            }
            for root in sharing.left[zone.name] ?? [] {
                try records.transaction.put(
                    LongChangeRow(zone: zone.key, kind: .departure, name: root))
            }
            if decisions.isLongDeletion, let claim {
                // The claim's deletions may proceed from now on, except for those that this request did itself.
                let writer = records.transaction
                try writer.delete(LongChangeRow(zone: zone.key, kind: .claim, name: claim.text))
                for name in decisions.namesDeleted(in: zone.name) + cascaded {
                    try writer.delete(
                        LongChangeRow(zone: zone.key, kind: .deletion, name: name))
                }
                records.hasLongChange = true
            }
        }
    }

    /// Records of a cascade that are read at a time.
    private static let cascadeStep = 100
}

/// The stored records that a request names, including its parents and targets.
struct StoredRecords {
    /// The living zones of the request by name.
    private(set) var zones: [String: ZoneRow] = [:]
    /// The caller's rights in them.
    private(set) var rights: [String: ZoneRights] = [:]
    /// Why other zones of the request are not available.
    private var zoneErrors: [String: ServiceError] = [:]
    private var rows: [RecordKey: RecordRow] = [:]
    /// By zone: which long changes are under way there.
    private(set) var underWay: [String: Set<LongChangeRow.Kind>] = [:]
    /// Records that still exist but are being deleted with another one: for the request they are gone.
    private(set) var goingAway: Set<RecordKey> = []
    /// Those of them whose deletion is not decided yet.
    private var undecided: Set<RecordKey> = []
    /// The assets of the request that are still there.
    private(set) var assets: Set<BlobName> = []

    /// Reads each zone's records in one call.
    ///
    /// - Parameters:
    ///   - claim: The request's own claim: the records that it holds still exist for it.
    ///   - hold: Counts the bytes of the rows. It refuses nothing, since the store's writer is waiting for the request:
    ///     `recordBytesPerModify` bounds them, and ``ModifyPlan`` was refused before if there was no memory.
    init(
        _ plan: ModifyPlan, _ context: RequestContext, reader: any StoreReader, claim: String?,
        hold: (_ bytes: Int) -> Void
    ) throws {
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
                zoneErrors[zoneName] = error
                continue
            }
            zones[zoneName] = zone
            underWay[zoneName] = try reader.longChanges(in: zone.key)
            guard let names = names[zoneName] else { continue }
            let found = try reader.records(
                named: Array(names), in: zone.key, room: &room, tooLarge: .modifyTooLarge,
                hold: hold)
            let isDeleting = underWay[zoneName]?.contains(.deletion) ?? false
            for (name, row) in found {
                let key = RecordKey(zoneName: zoneName, name: name)
                if isDeleting,
                    let other = try reader.longChangeDetail(.deletion, of: name, in: zone.key),
                    other != claim
                {
                    goingAway.insert(key)
                    if try reader.hasLongChange(.claim, of: other, in: zone.key) {
                        undecided.insert(key)
                    }
                    continue
                }
                rows[key] = row
            }
        }
    }

    /// Whether records of the zone must still be moved into their shares.
    func isPlacing(in zoneName: String) -> Bool {
        underWay[zoneName]?.contains(.placement) ?? false
    }

    /// Whether a request that is still under way may delete the record.
    func isUndecided(_ key: RecordKey) -> Bool { undecided.contains(key) }

    /// Why there is no such zone; nil when there is.
    func zoneError(for zoneName: String) -> ServiceError? {
        if zones[zoneName] != nil { return nil }
        return zoneErrors[zoneName] ?? .zoneNotFound
    }

    /// The record, if it exists, is not being deleted, and the caller can see it.
    func living(_ key: RecordKey) -> RecordRow? {
        guard let row = rows[key], !row.isDeleted, canRead(row, key) else { return nil }
        return row
    }

    /// Whether there is such a record that the caller cannot see.
    func isHidden(_ key: RecordKey) -> Bool {
        guard let row = rows[key], !row.isDeleted else { return false }
        return !canRead(row, key)
    }

    private func canRead(_ row: RecordRow, _ key: RecordKey) -> Bool {
        rights[key.zoneName]?.canRead(row) ?? false
    }
}

extension StoreReader {
    /// Reads records in slices, so that no more of them is held than there is room for.
    ///
    /// - Parameters:
    ///   - room: The bytes that the records may have; their size is subtracted.
    ///   - hold: Counts their bytes against the memory of the request that reads them.
    /// - Throws: `tooLarge` when there is no room.
    func records(
        named names: [String], in zone: ZoneRow.Key, room: inout Int, tooLarge: ServiceError,
        hold: (_ bytes: Int) throws -> Void
    ) throws -> [String: RecordRow] {
        var rows: [String: RecordRow] = [:]
        for slice in names.chunks(ofCount: 16) {
            let found = try records(named: Array(slice), in: zone)
            let bytes = found.values.reduce(0) { $0 + $1.payload.count }
            room -= bytes
            guard room >= 0 else { throw tooLarge }
            try hold(bytes)
            rows.merge(found) { first, _ in first }
        }
        return rows
    }
}
