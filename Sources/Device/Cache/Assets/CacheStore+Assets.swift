import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSQLite
import StratusSync
import StratusWire

/// Uploads of assets.
extension CacheStore {
    /// Milliseconds for which a receipt is used; the service accepts it for a day.
    private static let receiptMilliseconds: Int64 = 72_000_000
    /// How long after its upload a refused receipt is assumed to have expired, in milliseconds. A newer one was refused
    /// for another reason, and the receipt of a further upload would be refused too.
    private static let newReceiptMilliseconds: Int64 = 600_000

    /// The condition for a pending save to have an asset that must be uploaded first: one whose file is here, that the
    /// service's record does not have, and whose upload has no proof.
    static let waitsForUpload = """
        pending.kind = 0 AND EXISTS (
            SELECT 1 FROM record JOIN assetUse ON source = 0 AND row = record.id
            JOIN asset ON asset.key = assetUse.key
            WHERE \(CacheFormat.isOfPending)
            AND NOT EXISTS (
                SELECT 1 FROM assetUse AS held WHERE held.source = 1
                AND held.row = pending.sequence AND held.key = assetUse.key)
            AND NOT EXISTS (
                SELECT 1 FROM assetReceipt WHERE assetReceipt.key = assetUse.key
                AND assetReceipt.zone = pending.zone))
        """

    /// A record that waits for uploads, and the files to upload.
    struct WaitingUpload: Sendable {
        var change: OutgoingChange
        var zoneKey: Int64
        var files: [(field: String, file: CacheFile.KeptFile)]
    }

    /// The pending saves that wait for uploads, in the order in which they are sent.
    ///
    /// - Parameter owners: zone owners whose quota is exceeded; their zones are left out.
    func waitingUploads(
        itemLimit: Int, withholding owners: Set<String>
    ) throws -> [WaitingUpload] {
        try file.write { database in
            try dropOldReceipts(database)
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending
                    WHERE \(sendable(withholding: owners)) AND \(Self.waitsForUpload)
                    ORDER BY sequence LIMIT ?
                    """, arguments: StatementArguments(owners.sorted()) + [itemLimit])
            return try rows.compactMap { try waitingUpload($0, database) }
        }
    }

    /// Removes receipts that the service may no longer accept: their records wait for an upload.
    func dropOldReceipts(_ database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM assetReceipt WHERE time < ?")
            .execute(arguments: [world.nowMilliseconds() - Self.receiptMilliseconds])
    }

    private func waitingUpload(_ row: Row, _ database: Database) throws -> WaitingUpload? {
        let key = try row.decode(Int64.self, atIndex: PendingRow.columnCount)
        let zones = try SQLStatement(
            database, "SELECT \(CachedZoneRow.columns) FROM zone WHERE id = ?")
        guard let zone = try zones.bind(1, key).first({ try CachedZoneRow($0) }) else { return nil }
        let pending = try PendingRow(row, zone: zone.id)
        guard let client = try record(pending.change.id.name, zone, database) else { return nil }
        let held = Set(pending.base?.assetKeys.map(\.key) ?? [])
        var files: [(field: String, file: CacheFile.KeptFile)] = []
        for (field, key) in client.assetKeys where !held.contains(key) {
            guard let kept = try file.keptFile(key, database),
                try receipt(of: key, zone.key, database) == nil,
                !files.contains(where: { $0.file.key == key })
            else { continue }
            files.append((field, kept))
        }
        // A record without such files would wait forever.
        guard !files.isEmpty else {
            throw CacheError.damaged(WireError("The stored asset uses do not match the record."))
        }
        return WaitingUpload(
            change: OutgoingChange(
                change: pending.change, client: client, base: pending.base,
                sequence: pending.sequence),
            zoneKey: zone.key, files: files)
    }

    /// Whether a pending save waits for uploads.
    func waitsForUpload(_ row: PendingRow, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            try database.cachedStatement(
                sql: "SELECT \(Self.waitsForUpload) FROM pending WHERE sequence = ?"),
            arguments: [row.sequence]) ?? false
    }

    private func receipt(
        of key: String, _ zone: Int64, _ database: Database
    ) throws -> String? {
        try String.fetchOne(
            try database.cachedStatement(
                sql: "SELECT receipt FROM assetReceipt WHERE key = ? AND zone = ?"),
            arguments: [key, zone])
    }

    /// Uses the upload of the same file for another record of the zone for this record too.
    ///
    /// - Returns: whether there was such an upload.
    func reuseUpload(
        of kept: CacheFile.KeptFile, for waiting: WaitingUpload
    ) throws -> Bool {
        var isThere = false
        _ = try write { database, _ in
            let other = try String.fetchOne(
                database,
                sql: """
                    SELECT assetReceipt.key FROM assetReceipt
                    JOIN asset ON asset.key = assetReceipt.key
                    WHERE asset.file = ? AND assetReceipt.zone = ?
                    """, arguments: [kept.file, waiting.zoneKey])
            guard let other, let value = try value(of: other, in: waiting.zoneKey, database) else {
                return
            }
            try replace(kept.key, with: value, in: waiting, database)
            isThere = true
        }
        return isThere
    }

    /// The value of an asset in a record of a zone.
    private func value(
        of key: String, in zone: Int64, _ database: Database
    ) throws -> AssetReceipt? {
        let fields = try Data.fetchOne(
            database,
            sql: """
                SELECT record.fields FROM assetUse JOIN record ON record.id = row
                WHERE source = 0 AND key = ? AND record.zone = ?
                """, arguments: [key, zone])
        let decoded = try fields?.withUnsafeBytes { try StoredFields.decode($0) } ?? []
        return decoded.lazy.compactMap(\.value).flatMap(\.assets).first { $0.fileChecksum == key }
    }

    /// Records an upload: the record gets the service's value, and the receipt is stored.
    func uploaded(
        _ kept: CacheFile.KeptFile, as value: AssetReceipt, for waiting: WaitingUpload
    ) throws {
        guard let key = value.fileChecksum, let receipt = value.receipt else {
            throw SyncFailure(
                .internalError,
                message:
                    "The service answered an upload without a receipt. Try again, or update the service."
            )
        }
        _ = try write { database, _ in
            try file.add(
                CacheFile.KeptFile(key: key, file: kept.file, sizeBytes: kept.sizeBytes), database)
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO assetReceipt (key, zone, receipt, time)
                    SELECT ?, id, ?, ? FROM zone WHERE id = ?
                    """,
                arguments: [key, receipt, world.nowMilliseconds(), waiting.zoneKey])
            var stored = value
            stored.receipt = nil
            stored.downloadURL = nil
            try replace(kept.key, with: stored, in: waiting, database)
        }
    }

    private func replace(
        _ key: String, with value: AssetReceipt, in waiting: WaitingUpload, _ database: Database
    ) throws {
        let id = waiting.change.change.id
        guard key != value.fileChecksum, let zone = try zone(id.zoneID, database),
            var record = try record(id.name, zone, database)
        else { return }
        let old = record
        guard record.replaceAssets({ $0.fileChecksum == key ? value : $0 }) else { return }
        if let timesKey = fieldTimesKey(ofType: record.type) {
            record.carryFieldTimes(in: timesKey, from: old)
        }
        try put(record, isEdit: true, zone, database)
    }

    /// The receipts that a record's save needs, by checksum.
    func receipts(
        for record: RecordSnapshot?, _ zone: CachedZoneRow, _ database: Database
    ) throws -> [String: String] {
        var receipts: [String: String] = [:]
        for (_, key) in record?.assetKeys ?? [] {
            receipts[key] = try receipt(of: key, zone.key, database)
        }
        return receipts
    }

    /// Handles a refused save with receipts: they may have expired, so the files are uploaded
    /// again, once for new receipts.
    ///
    /// - Returns: whether the save is tried again.
    func isUploadedAgain(
        _ item: OutgoingChange, _ row: inout PendingRow, _ failure: SyncFailure,
        _ zone: CachedZoneRow,
        _ database: Database
    ) throws -> Bool {
        guard failure.code == .assetNotAvailable, !item.receipts.isEmpty else { return false }
        let keys = item.receipts.keys.sorted()
        // The number of attempts also counts failures that have nothing to do with the receipts.
        if row.change.attempts > 0 {
            let times = try keys.compactMap { key in
                try Int64.fetchOne(
                    database, sql: "SELECT time FROM assetReceipt WHERE key = ? AND zone = ?",
                    arguments: [key, zone.key])
            }
            let newest = times.max() ?? 0
            guard newest < world.nowMilliseconds() - Self.newReceiptMilliseconds else {
                return false
            }
        }
        for key in keys {
            try database.execute(
                sql: "DELETE FROM assetReceipt WHERE key = ? AND zone = ?",
                arguments: [key, zone.key])
        }
        row.change.attempts += 1
        try update(row, database)
        return true
    }
}
