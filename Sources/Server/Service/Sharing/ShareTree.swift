import StratusRecords
import StratusStorage
import StratusWire

/// The hierarchies of a zone after a modify request.
struct ShareTree {
    private let zone: ZoneRow.Key
    private let reader: any StoreReader
    /// Whether records of the zone are still being moved to their shares: then the stored share of a record may be out
    /// of date.
    private let isPlacing: Bool
    /// The records that the request saves, as decided.
    private(set) var saved: [String: RecordRow] = [:]
    /// The records that the request deletes.
    private(set) var gone: Set<String> = []
    /// Roots of shares that the request creates, and their shares.
    var created: [String: String] = [:] { didSet { places = [:] } }
    /// Roots whose shares the request ends.
    private(set) var ended: Set<String> = []
    /// Records that move in the hierarchies, so that the records below them move too.
    private(set) var moved: Set<String> = []
    /// The shares that the request deletes.
    private(set) var endedShares: [RecordRow] = []
    private var loaded: [String: RecordRow?] = [:]
    /// Records that were read on the way up.
    private(set) var steps = 0
    /// The roots found so far, for all records on the way: a long chain is followed once.
    private var places: [String: String?] = [:]

    init(_ zone: ZoneRow.Key, isPlacing: Bool, reader: any StoreReader) {
        self.zone = zone
        self.isPlacing = isPlacing
        self.reader = reader
    }

    mutating func save(_ row: RecordRow, old: RecordRow?) {
        places = [:]
        saved[row.name] = row
        if let old {
            loaded[row.name] = .some(old)
            if old.parent != row.parent { moved.insert(row.name) }
        }
    }

    /// A deleted share leaves its root, and a deleted root ends its share.
    mutating func delete(_ old: RecordRow) {
        places = [:]
        gone.insert(old.name)
        let isShare = old.type == ShareDictionary.recordType
        if isShare { endedShares.append(old) }
        guard let root = isShare ? old.shareRoot : ownRoot(of: old)
        else { return }
        ended.insert(root)
        moved.insert(root)
    }

    /// Takes out a record that the request saves and a cascade deletes again.
    mutating func remove(_ name: String) {
        places = [:]
        gone.insert(name)
    }

    private func ownRoot(of row: RecordRow) -> String? {
        row.shareRoot == row.name ? row.name : nil
    }

    /// The nearest record that is the root of a share, from this one upwards.
    mutating func shareRoot(of name: String) throws -> String? {
        var seen: Set<String> = []
        var root: String?
        var current: String? = name
        while let name = current, !gone.contains(name) {
            if let known = places[name] {
                root = known
                break
            }
            guard seen.insert(name).inserted else { break }
            steps += 1
            let stored = created[name] == nil ? try record(name) : nil
            if created[name] != nil || stored?.shareRoot == name && !ended.contains(name) {
                root = name
                break
            }
            if let row = saved[name] {
                current = row.parent
            } else if moved.isEmpty, created.isEmpty, !isPlacing {
                // No record is being moved: the stored share of records outside the request is right.
                root = stored?.shareRoot
                break
            } else {
                current = stored?.parent
            }
        }
        for name in seen { places[name] = .some(root) }
        return root
    }

    /// The record as it is stored; nil when there is none.
    mutating func record(_ name: String) throws -> RecordRow? {
        if let known = loaded[name] { return known }
        let row = try reader.records(named: [name], in: zone)[name]
        let living = row?.isDeleted == false ? row : nil
        loaded[name] = .some(living)
        return living
    }

    /// What a request does to the records below those that it moves, shares or stops sharing.
    struct CarriedAlong {
        /// Records that the request does not name and that move to another share.
        var rows: [(row: RecordRow, root: String?)] = []
        /// Records with too many others below them for one transaction: they follow in steps.
        var later: [String] = []
        /// Roots that stay shared, and that some of those records leave.
        var left: Set<String> = []
        /// About how many records move later, at least.
        var rowsLater = 0
        /// Rows that were read for it, some more than once.
        var rowsRead = 0
    }

    /// - Parameter limit: How many records move at once.
    mutating func carriedAlong(limit: Int) throws -> CarriedAlong {
        var below: [String: RecordRow] = [:]
        var carried = CarriedAlong()
        // The zone before the request. One tree for all names, so that each record on the way up is read once.
        var before = ShareTree(zone, isPlacing: true, reader: reader)
        let payloadLimit = SharePlacement.payloadBytesPerStep
        var (bytesBelow, bytesRead) = (0, 0)
        // Records below a deleted one were deleted with it, or are moved themselves.
        for name in moved.union(created.keys).subtracting(gone).sorted() {
            // It was read already, with the record above it.
            if below[name] != nil { continue }
            if !isPlacing, created[name] == nil {
                // The stored share is right, and the records below stay in it.
                let former = try record(name)?.shareRoot
                if try former == shareRoot(of: name) { continue }
            }
            // Records below each other would be read again for each. How many are below the rest is not known, so they
            // follow in steps.
            let isReadEnough = carried.rowsRead > 2 * limit || bytesRead > 2 * payloadLimit
            let rows =
                isReadEnough
                ? []
                : try reader.descendants(
                    of: name, in: zone, limit: limit + 1, payloadBytes: payloadLimit)
            carried.rowsRead += rows.count
            bytesRead += rows.payloadBytes
            let new = rows.filter { below[$0.name] == nil }
            let bytes = bytesBelow + new.payloadBytes
            if isReadEnough || below.count + new.count > limit || bytes >= payloadLimit {
                let former = try before.shareRoot(of: name)
                if try former == shareRoot(of: name) { continue }
                carried.later.append(name)
                carried.rowsLater = max(
                    carried.rowsLater, isReadEnough ? limit : min(rows.count, limit))
                // A share that ends gives no access any more.
                if let former, !ended.contains(former) || created[former] != nil {
                    carried.left.insert(former)
                }
            } else {
                for row in new { below[row.name] = row }
                bytesBelow = bytes
            }
        }
        // All of them first, so that following a chain finds the others here instead of in the store.
        for row in below.values { loaded[row.name] = .some(row) }
        for row in below.values.sorted(by: { $0.version < $1.version })
        where saved[row.name] == nil && !gone.contains(row.name) {
            let root = try shareRoot(of: row.name)
            if root != row.shareRoot { carried.rows.append((row, root)) }
        }
        return carried
    }
}

extension [RecordRow] {
    fileprivate var payloadBytes: Int { reduce(0) { $0 + $1.payload.count } }
}
