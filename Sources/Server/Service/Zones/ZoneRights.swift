import Crypto
import StratusRecords
import StratusStorage
import StratusWire

/// What a caller may do in a zone, valid for the snapshot in which it was read.
struct ZoneRights: Sendable {
    private enum Extent: Sendable {
        /// The caller's own zone, or one of the public database.
        case own
        /// The whole zone is shared with the caller.
        case zone(canWrite: Bool)
        /// Hierarchies are shared with the caller; by root, whether they may be written.
        case hierarchies([String: Bool])
    }

    private let extent: Extent
    /// For each root that many records are leaving, the records that are still under it.
    private let proven: [String: Set<String>]
    /// Identifies the shares that give access, and since when; 0 for the owner. Part of the zone's change tokens: they
    /// expire when the caller gains or loses access to records.
    let access: Int64

    /// A device identifier that no device can have: it is longer than the limit.
    fileprivate static let nobodysDevice = String(
        repeating: "-", count: Accounts.clientIDBytes + 1)

    static let own = ZoneRights(extent: .own, access: 0)

    private init(extent: Extent, access: Int64) {
        self.extent = extent
        self.access = access
        proven = [:]
    }

    /// The rights of a user in another owner's zone; nil when there are none.
    ///
    /// - Parameter limit: How many records may be under a root that many are leaving.
    /// - Throws: ``ServiceError`` when there are more.
    init?(of user: String, in zone: ZoneRow, limit: Int, reader: any StoreReader) throws {
        let rows = try reader.access(of: user, in: zone.key)
        guard !rows.isEmpty else { return nil }
        access = Self.mark(of: rows)
        if let whole = rows.first(where: { $0.root == nil }) {
            extent = .zone(canWrite: whole.canWrite)
            proven = [:]
        } else {
            let roots = Dictionary(
                rows.compactMap { row in row.root.map { ($0, row.canWrite) } },
                uniquingKeysWith: { $0 || $1 })
            extent = .hierarchies(roots)
            var proven: [String: Set<String>] = [:]
            for root in roots.keys
            where try reader.hasLongChange(.departure, of: root, in: zone.key) {
                let names = try reader.descendantNames(of: root, in: zone.key, limit: limit + 1)
                guard names.count <= limit else { throw ServiceError.departureUnderWay }
                proven[root] = Set(names)
            }
            self.proven = proven
        }
    }

    /// Records that were read to find out which are under a root.
    var recordsLookedAt: Int { proven.values.reduce(0) { $0 + $1.count } }

    /// Whether a record really is under the root that its row names: while a large move runs in steps, a row may be out
    /// of date.
    private func isInPlace(_ row: RecordRow) -> Bool {
        guard let root = row.shareRoot, let names = proven[root] else { return true }
        return row.name == root || row.type == ShareDictionary.recordType
            || names.contains(row.name)
    }

    private static func mark(of rows: [ShareAccessRow]) -> Int64 {
        var writer = ByteWriter()
        for row in rows {
            writer.write(row.user)
            writer.write(row.share)
            writer.write(row.root)
            writer.write(number: row.since)
        }
        let number = SHA256.hash(data: writer.bytes).prefix(8)
            .reduce(Int64(0)) { $0 << 8 | Int64($1) }
        // 0 means the owner.
        return number == 0 ? 1 : number
    }

    var isOwn: Bool { if case .own = extent { true } else { false } }

    /// The roots of the hierarchies that the caller can see; nil for all of the zone.
    var roots: [String]? {
        guard case .hierarchies(let roots) = extent else { return nil }
        return roots.keys.sorted()
    }

    func canRead(_ row: RecordRow) -> Bool {
        switch extent {
        case .own, .zone: true
        case .hierarchies(let roots):
            row.shareRoot.map { roots[$0] != nil } ?? false && isInPlace(row)
        }
    }

    func canWrite(_ row: RecordRow) -> Bool { canWrite(under: row.shareRoot) && isInPlace(row) }

    /// Whether the caller can change any record of the zone.
    var canWriteSomewhere: Bool {
        switch extent {
        case .own: true
        case .zone(let canWrite): canWrite
        case .hierarchies(let roots): roots.values.contains(true)
        }
    }

    /// Whether the caller can change records under this root.
    func canWrite(under root: String?) -> Bool {
        switch extent {
        case .own: true
        case .zone(let canWrite): canWrite
        case .hierarchies(let roots): root.map { roots[$0] ?? false } ?? false
        }
    }
}

extension RequestContext {
    /// What the caller may do in a zone of the request's database; nil when the caller must not learn that the zone
    /// exists.
    func rights(in zone: ZoneRow, _ reader: any StoreReader) throws -> ZoneRights? {
        guard scope == .shared else { return .own }
        let rights = try ZoneRights(
            of: user(), in: zone, limit: limits.recordsPerLongCascade, reader: reader)
        // Read from an index alone, so they are counted as entries.
        work.add(entriesRead: rights?.recordsLookedAt ?? 0)
        return rights
    }

    /// The zone with this name and the caller's rights there; nil when it is deleted or the caller may not see it.
    func livingZone(
        named name: String, _ reader: any StoreReader
    ) throws -> (row: ZoneRow, rights: ZoneRights)? {
        guard let zone = try reader.livingZone(named: name),
            let rights = try rights(in: zone, reader)
        else { return nil }
        return (zone, rights)
    }
}

extension RequestContext {
    /// The zone with this name and the caller's rights there.
    ///
    /// - Throws: ``ServiceError`` when it does not exist, or the caller may not see it.
    func existingZone(
        named name: String, _ reader: any StoreReader
    ) throws -> (row: ZoneRow, rights: ZoneRights) {
        // Only the owner may learn why a zone is gone.
        guard scope == .shared else { return (try reader.existingZone(named: name), .own) }
        guard let zone = try livingZone(named: name, reader) else {
            throw ServiceError.zoneNotFound
        }
        return zone
    }
}

extension StoreReader {
    /// The changes of a zone that a caller can see.
    ///
    /// Only the owner's devices see, without a token, deletions of records that they created: a participant would learn
    /// names from the time before joining.
    func changes(
        in zone: ZoneRow.Key, seenWith rights: ZoneRights, after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int = .max
    ) throws -> ChangePage {
        var cursor = cursor
        if !rights.isOwn { cursor.device = ZoneRights.nobodysDevice }
        guard let roots = rights.roots else {
            return try changes(
                in: zone, after: cursor, limit: limit, payloadBytes: payloadBytes)
        }
        let page = try sharedChanges(
            in: zone, roots: roots, after: cursor, limit: limit, payloadBytes: payloadBytes)
        // A record that is left out might become visible again before its step, and would then never be sent.
        guard page.rows.allSatisfy({ $0.isDeleted || rights.canRead($0) }) else {
            throw ServiceError.departureUnderWay
        }
        return page
    }

    /// The version of a zone's newest change that a caller can see.
    func version(of zone: ZoneRow, seenWith rights: ZoneRights) throws -> Int64 {
        guard let roots = rights.roots else { return zone.version }
        return try sharedVersion(of: zone.key, roots: roots)
    }
}

extension StoreReader {
    /// The zone with this name.
    ///
    /// - Throws: `ServiceError` when there is none; it says whether the user purged or reset it.
    func existingZone(named name: String) throws -> ZoneRow {
        guard let zone = try zone(named: name) else { throw ServiceError.zoneNotFound }
        guard let deletion = zone.deletion else { return zone }
        switch deletion {
        case .deleted: throw ServiceError.zoneNotFound
        case .purged: throw ServiceError.purgedZone
        case .encryptedDataReset: throw ServiceError.resetZone
        }
    }

    /// The zone with this name, unless it is deleted.
    func livingZone(named name: String) throws -> ZoneRow? {
        guard let zone = try zone(named: name), zone.deletion == nil else { return nil }
        return zone
    }
}
