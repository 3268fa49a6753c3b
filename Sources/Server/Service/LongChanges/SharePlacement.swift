import StratusRecords
import StratusStorage

/// One step of moving the records of a hierarchy into its share, or out of one that ended.
///
/// Invariants between two steps (decision 18):
/// - A record is in the same share as its parent, or is a root itself, or a row says that the children of one of its
///   ancestors are still to be placed.
/// - A record that is stored as being under a shared root really is under it. The root's share decides who may see it,
///   so no one sees too much; participants may see too little until the last step.
///
/// When a record moves to another share, its children are placed after it. So it does not matter how many changes run
/// at a time, nor what is saved, moved and deleted in the meantime.
struct SharePlacement {
    /// Children and parents that may still be read in this step.
    private var room: Int
    private var payloadRoom: Int
    /// The records whose children are to be placed, and the child after which to continue.
    private var open: [String] = []
    private var progress: [String: String] = [:]
    /// The records that this step moves to another share.
    private var moves: [String: RecordWrite] = [:]
    private var order: [String] = []
    /// Whether a root is shared now; read once.
    private var roots: [String: Bool] = [:]

    /// The most bytes of records that a step moves.
    static let payloadBytesPerStep = 8_000_000

    init(_ limits: Limits) {
        room = limits.recordsPerStep
        // A step is one batch, which a page of changes has as a whole.
        payloadRoom = min(limits.recordBytesPerModify, Self.payloadBytesPerStep)
    }

    mutating func step(in records: inout RecordWriter) throws {
        let writer = records.transaction
        let rows = try writer.longChanges(.placement, limit: room)
        guard let key = rows.first?.zone else { return }
        let entries = rows.filter { $0.zone == key }
        guard let zone = try writer.zones().first(where: { $0.key == key }) else {
            for entry in entries { try writer.delete(entry) }
            return
        }
        open = entries.map(\.name)
        progress = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.detail) })
        var next = 0
        while next < open.count, room > 0, payloadRoom > 0 {
            if let after = progress[open[next]] {
                try placeChildren(of: open[next], after: after, in: key, writer)
            }
            next += 1
        }
        for entry in entries where progress[entry.name] == nil { try writer.delete(entry) }
        let known = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.detail) })
        for (name, after) in progress where known[name] != after {
            try writer.put(LongChangeRow(zone: key, kind: .placement, name: name, detail: after))
        }
        guard !order.isEmpty else { return }
        let writes = order.compactMap { moves[$0] }
        try records.write(writes.count, in: zone, isShared: writer.hasShares(in: key)) { records in
            for write in writes { try records.move(write) }
        }
    }

    private mutating func placeChildren(
        of name: String, after: String, in zone: ZoneRow.Key, _ reader: any StoreReader
    ) throws {
        room -= 1
        let row = try moves[name]?.row ?? reader.records(named: [name], in: zone)[name]
        guard let row, !row.isDeleted else {
            progress[name] = nil
            return
        }
        let root = try living(row.shareRoot, in: zone, reader)
        let limit = max(room, 1)
        let children = try reader.children(
            of: name, after: after, in: zone, limit: limit, payloadBytes: max(payloadRoom, 1))
        for child in children {
            room -= 1
            payloadRoom -= child.payload.count
            let current = moves[child.name]?.row ?? child
            // A root has its own share, and so have the records below it.
            guard current.shareRoot != child.name, current.shareRoot != root else { continue }
            try move(child, under: root, in: zone, reader)
        }
        progress[name] = room > 0 && payloadRoom > 0 ? nil : children.last?.name
    }

    private mutating func move(
        _ record: RecordRow, under root: String?, in zone: ZoneRow.Key, _ reader: any StoreReader
    ) throws {
        if moves[record.name] == nil { order.append(record.name) }
        var old = record
        // The share does not exist any more, so no participant is notified that the record left it.
        old.shareRoot = try living(record.shareRoot, in: zone, reader)
        var row = record
        row.shareRoot = root
        moves[record.name] = RecordWrite(row: row, fields: [], references: [], old: old)
        progress[record.name] = ""
        open.append(record.name)
    }

    /// The root, if it is shared now.
    private mutating func living(
        _ root: String?, in zone: ZoneRow.Key, _ reader: any StoreReader
    ) throws -> String? {
        guard let root else { return nil }
        let isRoot: Bool
        if let known = roots[root] {
            isRoot = known
        } else {
            let row = try reader.records(named: [root], in: zone)[root]
            isRoot = row?.isDeleted == false && row?.shareRoot == root
            roots[root] = isRoot
        }
        return isRoot ? root : nil
    }
}
