import StratusRecords
import StratusStorage
import StratusWire

/// The hierarchies of a zone as a modify request will leave them.
struct ShareTree {
    private let zone: ZoneRow.Key
    private let reader: any StoreReader
    /// The records that the request saves, as decided.
    private(set) var saved: [String: RecordRow] = [:]
    /// The records that the request deletes.
    private(set) var gone: Set<String> = []
    /// Roots of shares that the request makes, and their shares.
    var created: [String: String] = [:] { didSet { roots = [:] } }
    /// Roots whose shares the request ends.
    private(set) var ended: Set<String> = []
    /// Records whose place in the hierarchies changes, so that what is below them changes too.
    private(set) var moved: Set<String> = []
    /// The shares that the request deletes.
    private(set) var endedShares: [RecordRow] = []
    private var loaded: [String: RecordRow?] = [:]
    /// Records that were looked at on the ways upwards.
    private(set) var steps = 0
    /// The roots that were found so far: the way up is gone once, however many records begin on it.
    private var roots: [String: String?] = [:]

    init(_ zone: ZoneRow.Key, reader: any StoreReader) {
        self.zone = zone
        self.reader = reader
    }

    mutating func save(_ row: RecordRow, old: RecordRow?) {
        roots = [:]
        saved[row.name] = row
        if let old {
            loaded[row.name] = .some(old)
            if old.parent != row.parent { moved.insert(row.name) }
        }
    }

    /// A deleted share leaves its root, and a deleted root ends its share.
    mutating func delete(_ old: RecordRow) {
        roots = [:]
        gone.insert(old.name)
        let isShare = old.type == ShareDictionary.recordType
        if isShare { endedShares.append(old) }
        guard let root = isShare ? old.shareRoot : ownRoot(of: old)
        else { return }
        ended.insert(root)
        moved.insert(root)
    }

    /// Takes out what the request saves and, by a cascade, deletes again.
    mutating func remove(_ name: String) {
        roots = [:]
        gone.insert(name)
    }

    private func ownRoot(of row: RecordRow) -> String? {
        row.shareRoot == row.name ? row.name : nil
    }

    /// The nearest record, from this one upwards, that is the root of a share.
    mutating func shareRoot(of name: String) throws -> String? {
        var way: [String] = []
        var root: String?
        var current: String? = name
        while let name = current, !gone.contains(name) {
            if let known = roots[name] {
                root = known
                break
            }
            steps += 1
            // Until it is known better; a way that leads in a circle has no root.
            roots[name] = .some(nil)
            way.append(name)
            if created[name] != nil {
                root = name
                break
            }
            let stored = try record(name)
            if let stored, stored.shareRoot == name, !ended.contains(name) {
                root = name
                break
            }
            if let row = saved[name] {
                current = row.parent
            } else if moved.isEmpty, created.isEmpty {
                // Nothing moves: what is stored of records that the request leaves alone is right.
                root = stored?.shareRoot
                break
            } else {
                current = stored?.parent
            }
        }
        if let root { for name in way { roots[name] = .some(root) } }
        return root
    }

    /// The record as it is stored; nil when it is not there.
    mutating func record(_ name: String) throws -> RecordRow? {
        if let known = loaded[name] { return known }
        let row = try reader.records(named: [name], in: zone)[name]
        let living = row?.isDeleted == false ? row : nil
        loaded[name] = .some(living)
        return living
    }

    /// The records below those that move which the request does not name, and which come under another
    /// share by it.
    ///
    /// - Throws: ``ServiceError`` when they are too many.
    mutating func carriedAlong(limit: Int) throws -> [(row: RecordRow, root: String?)] {
        var below: [String: RecordRow] = [:]
        for name in moved.union(created.keys).sorted() {
            let rows = try reader.descendants(of: name, in: zone, limit: limit + 1)
            for row in rows { below[row.name] = row }
            guard below.count <= limit else { throw ServiceError.tooManyRecordsToShare }
        }
        // Known before the first way up, which would read them one by one.
        for row in below.values where loaded[row.name] == nil { loaded[row.name] = .some(row) }
        var carried: [(row: RecordRow, root: String?)] = []
        for row in below.values.sorted(by: { $0.version < $1.version })
        where saved[row.name] == nil && !gone.contains(row.name) {
            loaded[row.name] = .some(row)
            let root = try shareRoot(of: row.name)
            if root != row.shareRoot { carried.append((row, root)) }
        }
        return carried
    }
}
