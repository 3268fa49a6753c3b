import StratusStorage

/// The records that a deletion removes: the named ones, those that refer to a removed one with DELETE_SELF, and the
/// share of a removed root, to any depth. Cycles end, since each record is visited once.
struct Cascade {
    /// Each record that is deleted, with the records that cause it; none for a record that was only named.
    private var causes: [RecordKey: [RecordKey]] = [:]
    /// In the order in which they were found: a record after the first one that causes its deletion.
    private(set) var members: [RecordKey] = []
    private var named: Set<RecordKey> = []
    /// How many of the members were not named.
    private(set) var unnamedCount = 0
    /// The named records whose deletion would remove more than the limit. Nothing is deleted with them.
    private(set) var tooLarge: [RecordKey] = []

    /// Deletes nothing.
    init() {}

    /// - Parameters:
    ///   - roots: the records that are named to be deleted.
    ///   - limit: how many more records may be deleted together with all of them.
    init(deleting roots: [RecordKey], _ dependents: inout Dependents, limit: Int) throws {
        named = Set(roots)
        // The named records and the record itself do not count towards the limit.
        let most = limit + 2 + named.count
        for root in roots where causes[root] == nil {
            let start = members.count
            let unnamedBefore = unnamedCount
            causes[root] = []
            members.append(root)
            var next = start
            while next < members.count {
                let target = members[next]
                next += 1
                for holder in try dependents.going(with: target, limit: most)
                where holder != target {
                    if causes[holder] == nil {
                        members.append(holder)
                        if !named.contains(holder) { unnamedCount += 1 }
                    }
                    causes[holder, default: []].append(target)
                }
                guard unnamedCount <= limit else {
                    drop(root, membersFrom: start)
                    unnamedCount = unnamedBefore
                    break
                }
            }
        }
    }

    func contains(_ key: RecordKey) -> Bool { causes[key] != nil }

    /// Whether a record was named to be deleted.
    func isNamed(_ key: RecordKey) -> Bool { named.contains(key) }

    /// The members that were not named.
    var unnamed: [RecordKey] { members.filter { !named.contains($0) } }

    private mutating func drop(_ root: RecordKey, membersFrom start: Int) {
        for key in members[start...] { causes[key] = nil }
        members.removeLast(members.count - start)
        tooLarge.append(root)
    }

    /// Finds the members that a remaining record needs, as its parent or by VALIDATE.
    ///
    /// Such a member stays. The members that could be deleted only because it was deleted too are examined again.
    ///
    /// - Parameter operations: how many operations the request has.
    /// - Returns: the named records that therefore cannot be deleted.
    mutating func dropHeld(
        _ dependents: inout Dependents, operations: Int
    ) throws -> Set<RecordKey> {
        let limit = members.count + operations + 1
        var refused: Set<RecordKey> = []
        var waiting: [RecordKey: [RecordKey]] = [:]
        var open = members
        while let key = open.popLast() {
            guard contains(key) else { continue }
            let needing =
                try dependents.of(key, .child, limit: limit)
                + dependents.of(key, .validate, limit: limit)
            guard !needing.allSatisfy(contains) else {
                for other in needing where other != key { waiting[other, default: []].append(key) }
                continue
            }
            let roots = roots(of: key).subtracting(refused)
            refused.formUnion(roots)
            for root in roots where causes[root]?.isEmpty == true {
                for released in try release(root, refused, &dependents, limit: limit) {
                    open += waiting[released] ?? []
                }
            }
        }
        return refused
    }

    /// Lets a named record stay, and the members that only it would have deleted.
    ///
    /// - Returns: all that stay. Members of a cycle are not found here.
    private mutating func release(
        _ root: RecordKey, _ refused: Set<RecordKey>, _ dependents: inout Dependents, limit: Int
    ) throws -> [RecordKey] {
        var released: [RecordKey] = []
        var open = [root]
        while let key = open.popLast() {
            causes[key] = nil
            released.append(key)
            for holder in try dependents.going(with: key, limit: limit) {
                guard let others = causes[holder]?.filter({ $0 != key }) else { continue }
                causes[holder] = others
                if others.isEmpty, !named.contains(holder) || refused.contains(holder) {
                    open.append(holder)
                }
            }
        }
        return released
    }

    /// The named records that cause a member's deletion.
    private func roots(of key: RecordKey) -> Set<RecordKey> {
        var roots: Set<RecordKey> = []
        var seen: Set<RecordKey> = [key]
        var open = [key]
        while let key = open.popLast() {
            if named.contains(key) { roots.insert(key) }
            for cause in causes[key] ?? [] where seen.insert(cause).inserted { open.append(cause) }
        }
        return roots
    }
}
