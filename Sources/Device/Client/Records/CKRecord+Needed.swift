import Foundation
import StratusRecords

extension CKRecord {
    /// The records that must exist before the service saves this one: its parent, and the targets
    /// of its references with ``ReferenceAction/deleteSelf``.
    package var neededRecordIDs: [CKRecord.ID] {
        let (parent, values) = state.withLock { ($0.parent, Array($0.values.values)) }
        var needed = parent.map { [$0.recordID] } ?? []
        for value in values {
            switch value.object {
            case let reference as CKRecord.Reference where reference.action == .deleteSelf:
                needed.append(reference.recordID)
            case let list as NSArray:
                for case let reference as CKRecord.Reference in list
                where reference.action == .deleteSelf {
                    needed.append(reference.recordID)
                }
            default: break
            }
        }
        return needed
    }
}

extension [CKRecord] {
    /// The records without duplicates, each after those that it needs, otherwise in the same order.
    package var neededFirst: [CKRecord] {
        let records = Dictionary(map { ($0.recordID, $0) }) { first, _ in first }
        var walk = DependencyWalk<CKRecord.ID, CKRecord>()
        var ordered: [CKRecord] = []
        ordered.reserveCapacity(count)
        for record in self where !walk.hasSeen(record.recordID) {
            walk.begin(at: record, id: record.recordID, needing: record.neededRecordIDs)
            while let step = walk.next() {
                switch step {
                case .look(let id):
                    guard let needed = records[id] else { continue }
                    walk.begin(at: needed, id: id, needing: needed.neededRecordIDs)
                case .take(let record): ordered.append(record)
                }
            }
        }
        return ordered
    }
}
