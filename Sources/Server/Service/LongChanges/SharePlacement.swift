import StratusRecords
import StratusStorage

/// One step of bringing the records of a hierarchy under its share, or out of one that ended.
///
/// What holds between two steps (decision 18):
/// - A record lies under the same share as its parent, or is a root itself, or a row says that the
///   children of one of its ancestors are still to be placed.
/// - A record that is said to lie under a root that is shared does lie there: nobody sees too much, since
///   who may see is decided by the root's share. Only too little, until the last step.
///
/// A record that comes under another share has its children placed after it. So it does not matter how many
/// changes are under way at a time, nor what is saved, moved and deleted meanwhile.
struct SharePlacement {
    /// Children and parents that may still be looked at in this step.
    private var room: Int
    private var payloadRoom: Int
    /// The records whose children are to be placed, and after which child to go on.
    private var open: [String] = []
    private var progress: [String: String] = [:]
    /// What comes under another share by this step.
    private var moves: [String: RecordWrite] = [:]
    private var order: [String] = []
    /// Whether a root is one now; asked for once.
    private var roots: [String: Bool] = [:]

    init(_ limits: Limits) {
        room = limits.recordsPerStep
        payloadRoom = limits.recordBytesPerModify
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
            // A root has its own share, and what is below it too.
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
        // Nobody is told that a record left the view of a share that is not there any more.
        old.shareRoot = try living(record.shareRoot, in: zone, reader)
        var row = record
        row.shareRoot = root
        moves[record.name] = RecordWrite(row: row, fields: [], references: [], old: old)
        progress[record.name] = ""
        open.append(record.name)
    }

    /// The root, where it is shared now.
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
