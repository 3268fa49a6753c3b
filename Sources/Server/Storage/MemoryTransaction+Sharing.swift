import HashTreeCollections

extension MemoryState {
    /// What a zone has of shares.
    struct Sharing: Sendable {
        struct EventKey: Hashable, Sendable {
            var root: String
            var name: String
        }

        var shares: TreeDictionary<String, ShareRow> = [:]
        /// By share.
        var access: TreeDictionary<String, [ShareAccessRow]> = [:]
        var events: TreeDictionary<EventKey, ShareEventRow> = [:]
    }

    struct SharedZoneKey: Hashable, Sendable {
        var owner: String
        var name: String
    }
}

extension MemoryTransaction {
    // MARK: Shares

    func hasShares(in zone: ZoneRow.Key) -> Bool {
        state.zones[zone]?.sharing.shares.isEmpty == false
    }

    func shares(in zone: ZoneRow.Key, limit: Int) -> [ShareRow] {
        let shares = (state.zones[zone]?.sharing.shares ?? [:]).values
            .sorted { precedes($0.name, $1.name) }
        return Array(shares.prefix(max(limit, 1)))
    }

    func share(shortGUID: String) -> ShareRow? {
        state.zones.values.lazy
            .flatMap(\.sharing.shares.values)
            .first { $0.shortGUID == shortGUID }
    }

    func access(of user: String, in zone: ZoneRow.Key) -> [ShareAccessRow] {
        audience(of: zone).filter { $0.user == user }
    }

    func audience(of zone: ZoneRow.Key) -> [ShareAccessRow] {
        (state.zones[zone]?.sharing.access ?? [:]).values
            .flatMap { $0 }
            .sorted { left, right in
                left.user == right.user
                    ? precedes(left.share, right.share) : precedes(left.user, right.user)
            }
    }

    func put(_ row: ShareRow, access: [ShareAccessRow]) {
        state.zones[row.zone]?.sharing.shares[row.name] = row
        state.zones[row.zone]?.sharing.access[row.name] = access
    }

    func deleteShare(_ name: String, in zone: ZoneRow.Key) {
        guard var sharing = state.zones[zone]?.sharing else { return }
        if let root = sharing.shares[name]?.root {
            sharing.events = sharing.events.filter { $0.key.root != root }
        }
        sharing.shares[name] = nil
        sharing.access[name] = nil
        state.zones[zone]?.sharing = sharing
    }

    // MARK: The view

    func descendants(of name: String, in zone: ZoneRow.Key, limit: Int) -> [RecordRow] {
        let records = (state.zones[zone]?.records ?? [:]).values.filter {
            $0.parent != nil && !$0.isDeleted
        }
        let children = Dictionary(grouping: records) { $0.parent ?? "" }
        var found: [RecordRow] = []
        var seen: Set<String> = [name]
        var waiting = [name]
        while let parent = waiting.popLast() {
            for child in children[parent] ?? [] where seen.insert(child.name).inserted {
                found.append(child)
                waiting.append(child.name)
            }
        }
        return Array(found.prefix(max(limit, 1)))
    }

    func sharedChanges(
        in key: ZoneRow.Key, roots: [String], after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int
    ) throws -> ChangePage {
        guard let zone = state.zones[key] else { throw StorageError.zoneMissing() }
        let roots = Set(roots)
        let skip = max(cursor.version, cursor.skipTombstonesThrough)
        let there = zone.records.values.filter {
            $0.version > cursor.version && $0.shareRoot.map(roots.contains) == true
        }
        let gone = zone.sharing.events.values
            .filter { $0.version > skip && roots.contains($0.root) }
            .map(\.tombstone)
        var rows: [RecordRow] = []
        var bytes = 0
        for row in (there + gone).sorted(by: { $0.version < $1.version }) {
            // No page ends inside a request.
            if rows.count >= max(limit, 1) || bytes >= payloadBytes, let last = rows.last,
                row.commitVersion != last.commitVersion
            {
                return ChangePage(rows: rows, version: last.version, moreComing: true)
            }
            bytes += row.payload.count
            rows.append(row)
        }
        return ChangePage(rows: rows, version: zone.row.version, moreComing: false)
    }

    func sharedVersion(of zone: ZoneRow.Key, roots: [String]) -> Int64 {
        guard let zone = state.zones[zone] else { return 0 }
        let roots = Set(roots)
        let there = zone.records.values.lazy
            .filter { $0.shareRoot.map(roots.contains) == true }.map(\.version).max()
        let gone = zone.sharing.events.values.lazy
            .filter { roots.contains($0.root) }.map(\.version).max()
        return max(there ?? 0, gone ?? 0)
    }

    func put(_ row: ShareEventRow) {
        state.zones[row.zone]?.sharing.events[.init(root: row.root, name: row.name)] = row
    }

    func deleteShareEvent(of name: String, root: String, in zone: ZoneRow.Key) {
        state.zones[zone]?.sharing.events[.init(root: root, name: name)] = nil
    }

    // MARK: The zones of others

    func sharedZones() -> [SharedZoneRow] {
        state.sharedZones.values.filter { !$0.isDeleted }.sorted { left, right in
            left.owner == right.owner
                ? precedes(left.name, right.name) : precedes(left.owner, right.owner)
        }
    }

    func sharedZones(changedAfter databaseVersion: Int64, limit: Int) -> [SharedZoneRow] {
        let changed = state.sharedZones.values
            .filter { $0.changedAtDatabaseVersion > databaseVersion }
            .sorted { $0.changedAtDatabaseVersion < $1.changedAtDatabaseVersion }
        return Array(changed.prefix(max(limit, 1)))
    }

    func sharedZone(owner: String, name: String) -> SharedZoneRow? {
        state.sharedZones[.init(owner: owner, name: name)]
    }

    @discardableResult
    func put(_ row: SharedZoneRow) -> SharedZoneRow {
        var row = row
        row.changedAtDatabaseVersion = takeDatabaseVersion()
        state.sharedZones[.init(owner: row.owner, name: row.name)] = row
        return row
    }
}
