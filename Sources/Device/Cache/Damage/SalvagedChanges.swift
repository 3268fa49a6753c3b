import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// What a damaged file still tells of changes that were not sent, as far as SQLite can read it.
struct SalvagedChanges {
    /// A record with an edit that waits, and the record as the service had it.
    struct Save {
        var scope: CKDatabase.Scope
        var client: RecordSnapshot
        var base: RecordSnapshot?
    }

    var saves: [Save] = []
    var deletions: [(scope: CKDatabase.Scope, id: RecordID)] = []
    /// Changes that can be named, and not read.
    var unreadable: [(scope: CKDatabase.Scope, id: RecordID)] = []
    /// Of the file as a whole: its user, and whether syncing is on.
    var flags: [(name: String, value: String?)] = []
    var encryptedFields: [(type: String, key: String)] = []
    /// The files of assets that it names.
    var files: [CacheFile.KeptFile] = []

    /// The databases with something to tell; the private one where there is nothing at all.
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
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.inDatabase { database in
                // Other formats have other columns.
                guard try CacheFormat.format.isOfNewestFormat(database) else { return }
                read(database)
            }
            try queue.close()
        } catch {
            // Nothing can be read: the report says so by what it does not have.
            return
        }
    }

    private mutating func read(_ database: Database) {
        for row in Self.rows("SELECT rowid, name, value FROM flag WHERE database = 0", database) {
            flags.append((row[1], row[2]))
        }
        for row in Self.rows("SELECT 0, type, key FROM encryptedField", database) {
            encryptedFields.append((row[1], row[2]))
        }
        for row in Self.rows("SELECT 0, key, file, sizeBytes FROM asset", database) {
            files.append(CacheFile.KeptFile(key: row[1], file: row[2], sizeBytes: row[3]))
        }
        var zones: [Int64: (scope: CKDatabase.Scope, id: ZoneID)] = [:]
        for row in Self.rows("SELECT id, name, owner, database FROM zone", by: "id", database) {
            let scope = CKDatabase.Scope(rawValue: row[3]) ?? .private
            zones[row[0]] = (scope, ZoneID(name: row[1], ownerName: row[2]))
        }
        let pending = Self.rows(
            "SELECT \(PendingRow.columns), zone FROM pending", by: "sequence", database)
        for row in pending {
            let key: Int64 = row[PendingRow.columnCount]
            guard let (scope, zone) = zones[key] else { continue }
            let id = RecordID(name: row[1], zoneID: zone)
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
                // The change is named, so that the app can tell the user.
                unreadable.append((scope, id))
            }
        }
    }

    /// The files of what was not sent. A file that is at the service comes again; the name of one that is not is
    /// its key's, whatever became of its row.
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
            // The index may be what is damaged, and not the table.
            row = rows(
                "SELECT \(RecordSnapshot.columns), zone, name, id FROM record NOT INDEXED",
                by: "id",
                database
            ).first { $0[4] as Int64 == zone && $0[5] as String == id.name }
        }
        return try row.map { try RecordSnapshot($0, id: id, type: $0[0], at: 1) }
    }

    /// The rows of a query up to the damage, and with a key those behind it.
    private static func rows(
        _ sql: String, by key: String? = nil, _ database: Database
    ) -> [Row] {
        var rows: [Row] = []
        func read(_ sql: String) throws {
            let cursor = try Row.fetchCursor(database, sql: sql)
            while let row = try cursor.next() { rows.append(row.copy()) }
        }
        guard let key else {
            // What was read before the damage counts.
            try? read(sql)
            return rows
        }
        do {
            try read(sql + " ORDER BY \(key)")
            return rows
        } catch {
            // From the other end, up to the damage.
            let first = rows
            rows = []
            // What was read before the damage counts.
            try? read(sql + " ORDER BY \(key) DESC")
            let known = Set(first.compactMap { $0[key] as Int64? })
            return first + rows.reversed().filter { !known.contains($0[key] ?? 0) }
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

    /// What was read out of a damaged file: records with what was edited as their changes.
    func fileDamaged() throws -> CacheEvent {
        var saves: [CKRecord] = []
        for (index, record) in (records ?? []).enumerated() {
            let base = try bases?[index]?.snapshot()
            saves.append(try record.snapshot().record(changedSince: base))
        }
        return .fileDamaged(
            keptAside: message ?? "", saves: saves,
            deletions: (deletions ?? []).map { CKRecord.ID($0.id) },
            unreadable: (unreadable ?? []).map { CKRecord.ID($0.id) })
    }
}
