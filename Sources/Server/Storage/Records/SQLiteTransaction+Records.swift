import StratusSQLite

extension SQLiteTransaction {
    /// Records that a scan reads at a time.
    private static let recordsPerScanStep = 128

    static let recordColumns = """
        zone, name, type, version, commit_version, change_tag, deleted, creator_device, created_ms, \
        modified_ms, creator, modifier, modifier_device, parent, share_root, payload, \
        sharing, checksum
        """
    /// The number of the checksum's column, the last one.
    static let checksumColumn: Int32 = 17

    func records(named names: [String], in zone: ZoneRow.Key) throws -> [String: RecordRow] {
        var found: [String: RecordRow] = [:]
        found.reserveCapacity(names.count)
        let statement = try recordByNameStatement(
            "SELECT \(Self.recordColumns) FROM record WHERE zone = ? AND name = ?")
        try statement.bind(1, zone.rawValue)
        for name in names {
            guard let row = try statement.bind(2, name).first(record) else { continue }
            // A damaged index may lead to another record's row.
            guard row.name == name else { throw try damagedRecord(named: name, in: zone) }
            found[name] = row
        }
        return found
    }

    func put(_ row: RecordRow) throws {
        let statement = try putRecordStatement(
            """
            INSERT INTO record (\(Self.recordColumns))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (zone, name) DO UPDATE SET
                type = excluded.type, version = excluded.version,
                commit_version = excluded.commit_version, change_tag = excluded.change_tag,
                deleted = excluded.deleted, creator_device = excluded.creator_device,
                created_ms = excluded.created_ms, modified_ms = excluded.modified_ms,
                creator = excluded.creator, modifier = excluded.modifier,
                modifier_device = excluded.modifier_device, parent = excluded.parent,
                share_root = excluded.share_root, payload = excluded.payload,
                sharing = excluded.sharing, checksum = excluded.checksum
            """)
        try statement.bind(1, row.zone.rawValue)
        try statement.bind(2, row.name)
        try statement.bind(3, row.type)
        try statement.bind(4, row.version)
        try statement.bind(5, row.commitVersion)
        try statement.bind(6, row.changeTag)
        try statement.bind(7, row.isDeleted ? 1 : 0)
        try statement.bind(8, row.creatorDevice)
        try statement.bind(9, row.createdMilliseconds)
        try statement.bind(10, row.modifiedMilliseconds)
        try statement.bind(11, row.creator)
        try statement.bind(12, row.modifier)
        try statement.bind(13, row.modifierDevice)
        try statement.bind(14, row.parent)
        try statement.bind(15, row.shareRoot)
        try statement.bind(16, row.payload)
        if row.sharing.isEmpty {
            try statement.bind(17, nil as String?)
        } else {
            try statement.bind(17, row.sharing)
        }
        try statement.bind(18, row.checksum)
        try statement.run()
    }

    /// Removes the records of a zone that is deleted.
    func deleteRecords(in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM record WHERE zone = ?").bind(1, zone.rawValue).run()
    }

    /// Removes some records of a zone that is deleted.
    ///
    /// - Returns: How many were removed.
    func deleteRecords(in zone: ZoneRow.Key, limit: Int) throws -> Int {
        try statement(
            "DELETE FROM record WHERE rowid IN (SELECT rowid FROM record WHERE zone = ? LIMIT ?)"
        )
        .bind(1, zone.rawValue)
        .bind(2, Int64(limit))
        .run()
        return database.changesCount
    }

    /// - Returns: How many were removed.
    func deleteTombstones(through version: Int64, in zone: ZoneRow.Key) throws -> Int {
        // Uses the index of tombstones: the index of all versions would visit every record.
        try statement(
            """
            DELETE FROM record WHERE rowid IN (SELECT rowid FROM record
            INDEXED BY record_tombstone WHERE zone = ? AND version <= ? AND deleted = 1)
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, version)
        .run()
        return database.changesCount
    }

    func children(of parent: String, in zone: ZoneRow.Key, limit: Int) throws -> [String] {
        try statement(
            """
            SELECT name FROM record WHERE zone = ? AND parent = ? AND deleted = 0
            ORDER BY name LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, parent)
        .bind(3, Int64(max(limit, 1)))
        .all { $0.text(0) }
    }

    func scan(
        type: String, in zone: ZoneRow.Key, after name: String?,
        _ body: (RecordRow) throws -> Bool
    ) throws {
        // Step by step, so that no statement is open while `body` reads more or writes.
        var cursor = name
        while true {
            let rows = try scanStep(
                type: type, in: zone, after: cursor, limit: Self.recordsPerScanStep)
            for row in rows {
                if try !body(row) { return }
            }
            guard rows.count == Self.recordsPerScanStep else { return }
            cursor = rows.last?.name
        }
    }

    private func scanStep(
        type: String, in zone: ZoneRow.Key, after name: String?, limit: Int
    ) throws -> [RecordRow] {
        // Every name is greater than the empty one, which no record has.
        try statement(
            """
            SELECT \(Self.recordColumns) FROM record
            WHERE zone = ? AND name > ? AND type = ? AND deleted = 0 ORDER BY name LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, name ?? "")
        .bind(3, type)
        .bind(4, Int64(limit))
        .all(record)
    }

    /// The current row, after comparing its checksum.
    func record(_ row: SQLStatement) throws -> RecordRow {
        var columns = SummedColumns(row)
        let record = Self.record(&columns)
        let checksum = row.integer(Self.checksumColumn)
        guard checksum == columns.checksum || checksum == RowChecksum.none else {
            throw try damagedRecord(named: record.name, in: record.zone)
        }
        return record
    }

    static func uncheckedRecord(_ row: SQLStatement) -> RecordRow {
        var columns = SummedColumns(row)
        return record(&columns)
    }

    /// Reads the columns in their order, which is also the order of the checksum.
    private static func record(_ row: inout SummedColumns) -> RecordRow {
        RecordRow(
            zone: ZoneRow.Key(rawValue: row.integer(0)), name: row.text(1), type: row.text(2),
            version: row.integer(3), commitVersion: row.integer(4), changeTag: row.text(5),
            isDeleted: row.flag(6), creatorDevice: row.text(7),
            createdMilliseconds: row.integer(8), modifiedMilliseconds: row.integer(9),
            creator: row.text(10), modifier: row.text(11), modifierDevice: row.text(12),
            parent: row.optionalText(13), shareRoot: row.optionalText(14), payload: row.bytes(15),
            sharing: row.bytes(16))
    }
}

extension SQLStatement {
    /// Reads records until their payloads have this many bytes.
    func records(
        of transaction: SQLiteTransaction, untilBytes payloadBytes: Int
    ) throws -> [RecordRow] {
        var rows: [RecordRow] = []
        var bytes = 0
        try self.rows { row in
            let found = try transaction.record(row)
            bytes += found.payload.count
            rows.append(found)
            return bytes < payloadBytes
        }
        return rows
    }
}

/// The size of the records.
extension SQLiteTransaction {
    var recordBytes: Int64 {
        get throws {
            try statement(RecordFile.recordBytes).first { $0.integer(0) } ?? 0
        }
    }

    func countRecordBytes() throws -> Int64 {
        try statement(
            """
            SELECT coalesce(sum(\(RecordFile.bytes(of: "record"))), 0) FROM record
            WHERE deleted = 0
            """
        ).first { $0.integer(0) } ?? 0
    }
}

/// The references with an action.
extension SQLiteTransaction {
    func holders(
        of target: String, _ action: ReferenceRow.Action, in zone: ZoneRow.Key, limit: Int
    ) throws -> [String] {
        try statement(
            """
            SELECT holder FROM reference_ WHERE zone = ? AND target = ? AND action = ?
            ORDER BY holder LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, target)
        .bind(3, Int64(action.rawValue))
        .bind(4, Int64(max(limit, 1)))
        .all { $0.text(0) }
    }

    func put(_ row: ReferenceRow) throws {
        try run("INSERT OR IGNORE INTO reference_ VALUES (?, ?, ?, ?)", row)
    }

    func delete(_ row: ReferenceRow) throws {
        try run(
            "DELETE FROM reference_ WHERE zone = ? AND target = ? AND action = ? AND holder = ?",
            row)
    }

    func deleteReferences(heldBy holder: String, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM reference_ WHERE zone = ? AND holder = ?")
            .bind(1, zone.rawValue)
            .bind(2, holder)
            .run()
    }

    private func run(_ sql: String, _ row: ReferenceRow) throws {
        try statement(sql)
            .bind(1, row.zone.rawValue)
            .bind(2, row.target)
            .bind(3, Int64(row.action.rawValue))
            .bind(4, row.holder)
            .run()
    }
}

/// Earlier states of records.
extension SQLiteTransaction {
    static let ancestorColumns = """
        zone, replaced_at, change_tag, modified_ms, modifier, modifier_device, parent, payload, checksum
        """

    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws -> AncestorRow? {
        try statement(
            """
            SELECT \(Self.ancestorColumns) FROM record_ancestor WHERE zone = ? AND replaced_at = ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, version)
        .first { row in
            let found = Self.uncheckedAncestor(row)
            guard row.integer(8) == found.checksum else {
                throw StorageError.damaged(
                    DamagedRow(kind: "former state of a record", name: found.changeTag))
            }
            return found
        }
    }

    static func uncheckedAncestor(_ row: SQLStatement) -> AncestorRow {
        AncestorRow(
            zone: ZoneRow.Key(rawValue: row.integer(0)), replacedAt: row.integer(1),
            changeTag: row.text(2), modifiedMilliseconds: row.integer(3), modifier: row.text(4),
            modifierDevice: row.text(5), parent: row.optionalText(6), payload: row.bytes(7))
    }

    func put(_ row: AncestorRow) throws {
        try statement("INSERT OR REPLACE INTO record_ancestor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(1, row.zone.rawValue)
            .bind(2, row.replacedAt)
            .bind(3, row.changeTag)
            .bind(4, row.modifiedMilliseconds)
            .bind(5, row.modifier)
            .bind(6, row.modifierDevice)
            .bind(7, row.parent)
            .bind(8, row.payload)
            .bind(9, row.checksum)
            .run()
    }

    func deleteAncestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM record_ancestor WHERE zone = ? AND replaced_at = ?")
            .bind(1, zone.rawValue)
            .bind(2, version)
            .run()
    }

    func deleteAncestors(replacedThrough version: Int64, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM record_ancestor WHERE zone = ? AND replaced_at <= ?")
            .bind(1, zone.rawValue)
            .bind(2, version)
            .run()
    }

    func ancestorBytes(
        replacedAfter first: Int64, before last: Int64, in zone: ZoneRow.Key
    ) throws -> Int {
        try statement(
            """
            SELECT coalesce(sum(length(payload)), 0) FROM record_ancestor
            WHERE zone = ? AND replaced_at > ? AND replaced_at < ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, first)
        .bind(3, last)
        .first { Int($0.integer(0)) } ?? 0
    }

    func deleteAncestors(beyondBytes limit: Int, in zone: ZoneRow.Key) throws {
        var bytes = 0
        var version: Int64?
        try statement(
            """
            SELECT replaced_at, length(payload) FROM record_ancestor
            WHERE zone = ? ORDER BY replaced_at DESC
            """
        )
        .bind(1, zone.rawValue)
        .rows { row in
            bytes += Int(row.integer(1))
            guard bytes > limit else { return true }
            version = row.integer(0)
            return false
        }
        if let version { try deleteAncestors(replacedThrough: version, in: zone) }
    }
}
