import StratusCache
import StratusClient
import StratusRecords

/// An object that is being sent: the values that were read, and its record.
struct Outgoing: Sendable {
    var node: EntityGraph.Node
    var record: CKRecord
    /// The object's change date when it was read.
    var changed: Int64?
    var ticket: Int
    var isPart: Bool
    /// Whether only some fields are sent, and another device has edited the object later: the next sync applies that edit.
    var isOvertaken: Bool
    /// The digests of its files, by field.
    var digests: [String: String]
    /// How many references to ignored objects the record lacks.
    var ignoredCount: Int
}

extension CloudMapping {
    /// How often a record is rebuilt because another device changed it meanwhile.
    static let largestRounds = 8

    /// Sends objects.
    ///
    /// - Parameter reports: the outcome of each object.
    /// - Throws: the error of a root, otherwise of an object that it refers to, after all others
    ///   were sent.
    func transmit(
        _ nodes: [EntityGraph.Node], _ sending: Sending, _ reports: inout [SaveReport]
    ) async throws {
        // Objects that were deleted since the save was requested.
        let gone = nodes.filter { ledger.isDeleted(type(of: $0.entity).recordTypeName, $0.name) }
        if sending.ticket != nil { reports += gone.map { failed($0, MappingError.gone($0.name)) } }
        let goneKeys = Set(gone.map(\.key))
        let nodes = nodes.filter { !goneKeys.contains($0.key) }
        let known: [EntityGraph.Node] = nodes.filter {
            ledger.known(type(of: $0.entity).recordTypeName, $0.name) != nil
        }
        let names = known.map(\.name)
        let found = try await source.records(named: names, withFiles: false)
        var bases = found.records
        var pending = nodes
        let isThere = Set(known.map(\.key))
        var round = 0
        while !pending.isEmpty {
            round += 1
            var outgoing: [Outgoing] = []
            for node in pending {
                do {
                    guard bases[node.name] != nil || !isThere.contains(node.key) else {
                        throw try await absence(of: node.name, from: found)
                    }
                    if let item = try await outgoingItem(node, bases[node.name], sending) {
                        outgoing.append(item)
                    }
                } catch {
                    reports.append(failed(node, error))
                }
            }
            let results = try await source.modify(saving: outgoing.map(\.record), deleting: [])
            pending = []
            var saved: [(Outgoing, CKRecord)] = []
            for item in outgoing {
                do {
                    guard let record = try results[item.node.name]?.get() else {
                        throw Self.unanswered(item.node.name)
                    }
                    saved.append((item, record))
                } catch let error as CKError where error.serverRecord != nil {
                    guard round < Self.largestRounds else {
                        let contended = MappingError(
                            .contended,
                            "Other devices changed the record \(item.node.name) at each attempt. Save the object again a little later.",
                            cause: error)
                        reports.append(failed(item.node, contended))
                        continue
                    }
                    bases[item.node.name] = error.serverRecord
                    pending.append(item.node)
                } catch let error as CKError where error.code == .unknownItem {
                    // Deleted elsewhere; the report says so.
                    reports.append(failed(item.node, MappingError.gone(item.node.name)))
                } catch let error as CKError where error.code == .referenceViolation {
                    if round < Self.largestRounds, try await noteGoneTargets(of: item.node.entity) {
                        pending.append(item.node)
                    } else {
                        reports.append(failed(item.node, error))
                    }
                } catch {
                    reports.append(failed(item.node, error))
                }
            }
            reports += try await confirm(saved)
        }
        if let failure = reports.failure { throw failure }
    }

    /// Why the current record of an object is not among the records that were found.
    private func absence(of name: String, from found: NamedRecords) async throws -> MappingError {
        if let error = found.unreadable[name] { return MappingError.unreadable(name, error) }
        try await source.refuseIfHidden(name)
        return MappingError.gone(name)
    }

    /// Reads an object into a record; nil when the record's own change is newer and wins.
    private func outgoingItem<E: CloudEntity>(
        _ node: EntityGraph.Node, _ entity: E, _ base: CKRecord?, _ sending: Sending,
        ignored: Set<String>
    ) throws -> Outgoing? {
        let map = E.cloudMap
        let ticket = state.withLock { $0.takeTicket() }
        let changed = entity.changeMilliseconds
        // The app did not request to save this linked object, so its older edit must not overwrite
        // a newer one.
        if sending.newestWins || !node.isRoot, let base,
            let theirs = map.changeMilliseconds(of: base),
            theirs > changed ?? .min
        {
            return nil
        }
        let wanted = try map.record(
            of: entity, recordID(node.name), base: base, ignored: ignored, mapping: self)
        let record =
            base ?? CKRecord(recordType: map.recordType, recordID: recordID(node.name))
        guard record.recordType == map.recordType else {
            throw MappingError(
                .otherType,
                "The object's sync ID names a record of the type \(record.recordType)."
                    + " Give the object another one.")
        }
        let fields = node.isRoot ? sending.fields : nil
        let isOvertaken =
            fields != nil
            && hasLaterEdit(map.changeMilliseconds(of: record), changed, base, node.name)
        let digests = try map.copy(
            wanted, of: entity, to: record, fields: fields, isDated: !isOvertaken, mapping: self)
        return Outgoing(
            node: node, record: record, changed: changed, ticket: ticket, isPart: fields != nil,
            isOvertaken: isOvertaken, digests: digests,
            ignoredCount: ignoredCount(of: entity, rows: ignored))
    }

    /// Whether a record has a later edit that this device has not applied yet.
    private func hasLaterEdit(
        _ theirs: Int64?, _ mine: Int64?, _ base: CKRecord?, _ name: String
    ) -> Bool {
        guard let base, theirs ?? .min > mine ?? .min else { return false }
        return ledger.known(base.recordType, name)?.tag != base.recordChangeTag
    }

    private func outgoingItem(
        _ node: EntityGraph.Node, _ base: CKRecord?, _ sending: Sending
    ) async throws -> Outgoing? {
        let kind: any CloudEntity.Type = type(of: node.entity)
        if base == nil, kind.isReference, ledger.known(kind.recordTypeName, node.name) == nil {
            // If the process ends before the answer, the next one would give the object another name and save it twice.
            try await store.keep(node.entity)
        }
        let ignored = try await ignoredRows(of: node.entity)
        return try outgoingItem(node, node.entity, base, sending, ignored: ignored)
    }

    private func confirm(
        _ saved: [(item: Outgoing, record: CKRecord)]
    ) async throws -> [SaveReport] {
        for (type, group) in Dictionary(grouping: saved, by: { $0.record.recordType }) {
            let known = group.map { item, record in
                // After a save of some properties the object still counts as changed, so that the
                // next sync sends the rest.
                let former = ledger.known(type, item.node.name)
                return (
                    item.node.name,
                    SyncLedger.Known(
                        changed: item.isPart ? former?.changed : item.changed,
                        tag: item.isOvertaken ? former?.tag : record.recordChangeTag,
                        isPart: item.isPart ? true : nil)
                )
            }
            try ledger.setKnown(type, Dictionary(known) { $1 })
        }
        state.withLock { state in
            for (item, _) in saved {
                state.saves[item.node.key] = state.takeTicket()
                if !item.isPart { state.captures[item.node.key] = item.ticket }
            }
        }
        for (item, record) in saved {
            try noteFiles(item.node.entity, record, item.digests)
            if !item.isPart {
                try noteIgnored(item.ignoredCount, ofType: record.recordType, item.node.name)
            }
            // A row is not stored again: the save does not change it, and the app may have edited it meanwhile.
            if type(of: item.node.entity).isReference {
                try await store.keep(item.node.entity)
            }
            log.debug("saved", metadata: ["record": "\(item.node.key)"])
        }
        return saved.map { item, record in
            SaveReport(entity: item.node.entity, isRoot: item.node.isRoot, record: record)
        }
    }

    private func noteFiles<E: CloudEntity>(
        _ entity: E, _ record: CKRecord, _ digests: [String: String]
    ) throws {
        guard !digests.isEmpty else { return }
        try ledger.setFiles(
            record.recordType, record.recordID.recordName,
            E.cloudMap.files(of: record, digests: digests))
    }

    /// Notes the weakly referenced objects that another device has deleted: the object is saved
    /// without them.
    ///
    /// - Returns: whether there is any.
    private func noteGoneTargets<E: CloudEntity>(of entity: E) async throws -> Bool {
        var isAny = false
        for reference in E.cloudMap.references where reference.target.isWeakTarget {
            let type = reference.target.recordTypeName
            // A target that the cloud never had was not deleted.
            let names = targets(of: reference, in: entity).filter { ledger.known(type, $0) != nil }
            let there = try await source.records(named: names, withFiles: false)
            let gone = names.filter { there.records[$0] == nil && there.unreadable[$0] == nil }
            try ledger.setDeleted(type, gone, isPending: false)
            isAny = isAny || !gone.isEmpty
        }
        return isAny
    }

    private static func unanswered(_ name: String) -> CKError {
        CKError(
            .internalError,
            "The service did not answer for the record \(name); save the object again.")
    }

    private func failed(_ node: EntityGraph.Node, _ error: any Error) -> SaveReport {
        log.debug("save failed", metadata: ["record": "\(node.key)", "error": "\(error)"])
        return SaveReport(entity: node.entity, isRoot: node.isRoot, error: error)
    }
}

extension [SaveReport] {
    /// The last root's error, otherwise that of an object that a root refers to, except for deleted
    /// ones and those that this version of the app cannot read, which are reported only to the store.
    fileprivate var failure: (any Error)? {
        if let root = last(where: { $0.isRoot && $0.error != nil }) { return root.error }
        let links = filter { report in
            guard let error = report.error else { return false }
            let code = (error as? MappingError)?.code
            return code != .deleted && code != .unreadable
                && (error as? CacheError)?.code != .newerRecord
        }
        guard let link = links.first else { return nil }
        return MappingError(
            .linkNotSaved,
            "The object was saved, but not \(links.count) of the objects that it refers to, such as"
                + " one of the type \(type(of: link.entity).recordTypeName). Save those.",
            cause: link.error)
    }
}
