import StratusClient
import StratusRecords

/// An object on its way: what was read of it, and the record that carries it.
struct Outgoing: Sendable {
    var node: EntityGraph.Node
    var record: CKRecord
    /// The object's change date when it was read.
    var changed: Int64?
    var ticket: Int
    var isPart: Bool
}

extension CloudMapping {
    /// How often a record is built anew because another device changed it meanwhile.
    static let largestRounds = 8

    /// Sends objects, and tells of each.
    ///
    /// - Throws: the first root's error, once all others are done.
    func transmit(_ nodes: [EntityGraph.Node], _ sending: Sending) async throws {
        let known: [EntityGraph.Node] = nodes.filter {
            ledger.known(type(of: $0.entity).recordTypeName, $0.name) != nil
        }
        let names = known.map(\.name)
        var bases =
            names.isEmpty ? [:] : try await source.records(named: names, withFiles: false)
        var pending = nodes
        var failure: (any Error)?
        let isThere = Set(known.map(\.key))
        var round = 0
        while !pending.isEmpty {
            round += 1
            var outgoing: [Outgoing] = []
            for node in pending {
                do {
                    guard bases[node.name] != nil || !isThere.contains(node.key) else {
                        throw MappingError.gone
                    }
                    if let item = try outgoingItem(node, bases[node.name], sending) {
                        outgoing.append(item)
                    }
                } catch {
                    failure = await fail(node, error) ?? failure
                }
            }
            let results = try await source.modify(
                saving: outgoing.map(\.record), deleting: [])
            pending = []
            var saved: [(Outgoing, CKRecord)] = []
            for item in outgoing {
                do {
                    guard let record = try results[item.node.name]?.get() else {
                        throw CKError(.internalError, "The service did not answer for this record.")
                    }
                    saved.append((item, record))
                } catch let error as CKError where error.serverRecord != nil {
                    guard round < Self.largestRounds else {
                        let contended = MappingError(
                            .contended, "Save it again a little later.", cause: error)
                        failure = await fail(item.node, contended) ?? failure
                        continue
                    }
                    bases[item.node.name] = error.serverRecord
                    pending.append(item.node)
                } catch let error as CKError where error.code == .unknownItem {
                    failure = await fail(item.node, MappingError.gone) ?? failure
                } catch {
                    failure = await fail(item.node, error) ?? failure
                }
            }
            try await confirm(saved)
        }
        if let failure { throw failure }
    }

    /// Reads an object into a record; nil when the record's own change is newer and shall win.
    private func outgoingItem<E: CloudEntity>(
        _ node: EntityGraph.Node, _ entity: E, _ base: CKRecord?, _ sending: Sending
    ) throws -> Outgoing? {
        let map = E.cloudMap
        let ticket = state.withLock { $0.takeTicket() }
        let changed = entity.changeMilliseconds
        if sending.newestWins, let base, let theirs = map.changeMilliseconds(of: base),
            theirs > changed ?? .min
        {
            return nil
        }
        let wanted = try map.record(of: entity, recordID(node.name), mapping: self)
        let record =
            base ?? CKRecord(recordType: map.recordType, recordID: recordID(node.name))
        guard record.recordType == map.recordType else {
            throw MappingError(
                .otherType,
                "Give the object another sync ID: this one names a record of the type"
                    + " \(record.recordType).")
        }
        let fields = node.isRoot ? sending.fields : nil
        try map.copy(
            wanted, of: entity, to: record, fields: fields,
            keepsMissingFiles: source.mayLackFiles)
        return Outgoing(
            node: node, record: record, changed: changed, ticket: ticket, isPart: fields != nil)
    }

    private func outgoingItem(
        _ node: EntityGraph.Node, _ base: CKRecord?, _ sending: Sending
    ) throws -> Outgoing? {
        try outgoingItem(node, node.entity, base, sending)
    }

    private func confirm(_ saved: [(item: Outgoing, record: CKRecord)]) async throws {
        for (type, group) in Dictionary(grouping: saved, by: { $0.record.recordType }) {
            let known = group.map { item, record in
                // A part of the object says nothing of the rest, which the next sync sends.
                let changed =
                    item.isPart ? ledger.known(type, item.node.name)?.changed : item.changed
                return (
                    item.node.name,
                    SyncLedger.Known(changed: changed, tag: record.recordChangeTag)
                )
            }
            try ledger.setKnown(type, Dictionary(known) { $1 })
        }
        state.withLock { state in
            for (item, _) in saved where !item.isPart {
                state.captures[item.node.key] = item.ticket
            }
        }
        for (item, record) in saved {
            try await store.keep(item.node.entity)
            log.debug("saved", metadata: ["record": "\(item.node.key)"])
            await store.didSave(item.node.entity, record: record, error: nil)
        }
    }

    /// - Returns: the error, of a root: who saved it hears of it by the call.
    private func fail(_ node: EntityGraph.Node, _ error: any Error) async -> (any Error)? {
        if node.isRoot { return error }
        log.debug("save failed", metadata: ["record": "\(node.key)", "error": "\(error)"])
        await store.didSave(node.entity, record: nil, error: error)
        return nil
    }
}
