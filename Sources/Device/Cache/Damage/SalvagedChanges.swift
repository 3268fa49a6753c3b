import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// The unsent changes of a damaged file, as far as SQLite can read them.
struct SalvagedChanges {
    /// A record with a pending edit, and its base at the service.
    struct Save {
        var scope: CKDatabase.Scope
        var client: RecordSnapshot
        var base: RecordSnapshot?
    }

    var saves: [Save] = []
    var deletions: [(scope: CKDatabase.Scope, id: RecordID)] = []
    /// Changes whose records are known but cannot be read.
    var unreadable: [(scope: CKDatabase.Scope, id: RecordID)] = []
    /// The flags of the whole file: its user, and whether syncing is on.
    var flags: [(name: String, value: String?)] = []
    var encryptedFields: [(type: String, key: String)] = []
    /// The files of assets in its rows.
    var files: [CacheFile.KeptFile] = []

    /// The databases with salvaged or unreadable changes; the private one if there are none.
    var scopes: [CKDatabase.Scope] {
        let all =
            saves.map(\.scope) + deletions.map(\.scope) + unreadable.map(\.scope)
        let found = Set(all).sorted { $0.rawValue < $1.rawValue }
        return found.isEmpty ? [.private] : found
    }

    init(fileAt path: String) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        do {
            // Not opened through StoredFormat, which refuses a file whose format number is damaged. Nothing is written:
            // the connection may write only so that SQLite applies the log and removes it when the connection closes.
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.inDatabase { database in
                // Files of other formats have other columns.
                guard try CacheFormat.format.isOfNewestFormat(database) else { return }
                read(database)
            }
            try queue.close()
        } catch {
            // Nothing can be read. The report of the damage then has no changes, and the damaged
            // file is kept.
            return
        }
    }

    private mutating func read(_ database: Database) {
        flags = Self.values(
            "SELECT 0, name, value FROM flag WHERE database = 0", database
        ) { (name: try $0.decode(atIndex: 1), value: try $0.decode(atIndex: 2)) }
        // Other flags belong to tables that the new file does not have, such as those of the declared types.
        .filter { CacheFlag(rawValue: $0.name)?.isOfFile == true }
        checkOwner()
        encryptedFields = Self.values("SELECT type, key FROM encryptedField", database) {
            (try $0.decode(atIndex: 0), try $0.decode(atIndex: 1))
        }
        files = Self.values("SELECT key, file, sizeBytes FROM asset", database) {
            try CacheFile.KeptFile($0)
        }
        let zoneRows = Self.values(
            "SELECT id, name, owner, database FROM zone", by: "id", database
        ) { row in
            let id = ZoneID(name: try row.decode(atIndex: 1), ownerName: try row.decode(atIndex: 2))
            let scope = CKDatabase.Scope(rawValue: try row.decode(atIndex: 3)) ?? .private
            return (key: try row.decode(Int64.self, atIndex: 0), zone: (scope: scope, id: id))
        }
        let zones = Dictionary(zoneRows.map { ($0.key, $0.zone) }) { $1 }
        let pending = Self.values(
            "SELECT \(PendingRow.columns), zone FROM pending", by: "sequence", database
        ) { row in
            let zone: Int64 = try row.decode(atIndex: PendingRow.columnCount)
            return (row: row, zone: zone, name: try row.decode(String.self, atIndex: 1))
        }
        for (row, key, name) in pending {
            guard let (scope, zone) = zones[key] else { continue }
            let id = RecordID(name: name, zoneID: zone)
            do {
                let change = try PendingRow(row, zone: zone)
                guard change.change.kind == .save else {
                    deletions.append((scope, id))
                    continue
                }
                guard let client = try Self.record(id, key, database) else {
                    unreadable.append((scope, id))
                    continue
                }
                saves.append(Save(scope: scope, client: client, base: change.base))
            } catch {
                // The report lists the change as unreadable, so that the app can tell the user.
                unreadable.append((scope, id))
            }
        }
    }

    /// Keeps the undamaged one of the two texts with the user's name.
    private mutating func checkOwner() {
        let (name, check) = (CacheFlag.userRecordName.rawValue, CacheFlag.userCheck.rawValue)
        let owner = OwnerCheck.owner(
            name: flags.first { $0.name == name }?.value,
            check: flags.first { $0.name == check }?.value)
        flags.removeAll { $0.name == name || $0.name == check }
        guard let owner else { return }
        flags += [(name, owner), (check, OwnerCheck(owner).text)]
    }

    /// The files of unsent changes. A file that is at the service can be downloaded again; the name
    /// of one that is not follows from its key, even if its row is lost.
    var filesOfSaves: [CacheFile.KeptFile] {
        let known = Dictionary(files.map { ($0.key, $0) }) { $1 }
        let assets = saves.flatMap(\.client.fields).lazy.compactMap(\.value).flatMap(\.assets)
        return assets.compactMap { asset in
            guard let key = asset.fileChecksum else { return nil }
            if let file = known[key] { return file }
            guard asset.isLocal else { return nil }
            return CacheFile.KeptFile(
                key: key, file: String(key.dropFirst(AssetReceipt.localPrefix.count)),
                sizeBytes: asset.sizeBytes ?? 0)
        }
    }

    private static func record(
        _ id: RecordID, _ zone: Int64, _ database: Database
    ) throws -> RecordSnapshot? {
        let row: Row?
        do {
            row = try Row.fetchOne(
                database,
                sql: "SELECT \(RecordSnapshot.columns) FROM record WHERE \(CacheFormat.isNamed)",
                arguments: [zone, NameHash.of(id.name), id.name])
        } catch {
            // Perhaps only the index is damaged: read the table without it.
            row =
                values(
                    "SELECT \(RecordSnapshot.columns), zone, name, id FROM record NOT INDEXED",
                    by: "id", database
                ) { row in
                    let name: String = try row.decode(atIndex: 5)
                    return (row: row, zone: try row.decode(Int64.self, atIndex: 4), name: name)
                }.first { $0.zone == zone && $0.name == id.name }?.row
        }
        return try row.map {
            try RecordSnapshot($0, id: id, type: try $0.decode(atIndex: 0), at: 1)
        }
    }

    /// The values in the rows of a query. Rows that cannot be decoded are left out; the others are still returned.
    private static func values<Value>(
        _ sql: String, by key: String? = nil, _ database: Database,
        _ value: (Row) throws -> Value
    ) -> [Value] {
        rows(sql, by: key, database).compactMap { row in
            do {
                return try value(row)
            } catch {
                // The row is left out, for the reason given above.
                return nil
            }
        }
    }

    /// The rows of a query before the damage and, with a key, those after it.
    private static func rows(
        _ sql: String, by key: String? = nil, _ database: Database
    ) -> [Row] {
        var rows: [Row] = []
        func read(_ sql: String) throws {
            let cursor = try Row.fetchCursor(database, sql: sql)
            while let row = try cursor.next() { rows.append(row.copy()) }
        }
        guard let key else {
            // The error marks the damage; the rows before it are used.
            try? read(sql)
            return rows
        }
        do {
            try read(sql + " ORDER BY \(key)")
            return rows
        } catch {
            // Read from the other end, up to the damage.
            let first = rows
            rows = []
            // The error marks the damage; the rows before it are used.
            try? read(sql + " ORDER BY \(key) DESC")
            func value(_ row: Row) -> DatabaseValue? { row.first { $0.0 == key }?.1 }
            let known = Set(first.map(value))
            return first + rows.reversed().filter { !known.contains(value($0)) }
        }
    }
}

extension StoredReport {
    init(_ salvaged: SalvagedChanges, in scope: CKDatabase.Scope, aside: String) throws {
        self.init()
        message = aside
        let saves = salvaged.saves.filter { $0.scope == scope }
        records = saves.map { Record($0.client) }
        bases = saves.map { $0.base.map { Record($0) } }
        deletions = salvaged.deletions.filter { $0.scope == scope }.map { Identity($0.id) }
        unreadable = salvaged.unreadable.filter { $0.scope == scope }.map { Identity($0.id) }
    }

    /// The event of a damaged file: the salvaged records, with their edits as unsaved changes.
    func fileDamaged() throws -> CacheEvent {
        var saves: [CKRecord] = []
        for (index, record) in (records ?? []).enumerated() {
            let base = bases.flatMap { index < $0.count ? $0[index] : nil }
            saves.append(try record.snapshot().record(changedSince: base?.snapshot()))
        }
        return .fileDamaged(
            keptAside: message ?? "", saves: saves,
            deletions: (deletions ?? []).map { CKRecord.ID($0.id) },
            unreadable: (unreadable ?? []).map { CKRecord.ID($0.id) })
    }
}
