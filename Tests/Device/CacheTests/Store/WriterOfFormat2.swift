import Foundation
import GRDB
import StratusClient
import StratusRecords

@testable import StratusCache

// The code that wrote the cache's files up to format 2, kept for the tests of the migration.

/// Writes fields and snapshots in the formats 1 and 2.
struct WriterOfFormat2 {
    private(set) var bytes: [UInt8] = []

    static let version: UInt8 = 1

    static func encode(_ fields: [Field]) -> [UInt8] {
        var writer = WriterOfFormat2()
        writer.bytes.reserveCapacity(32 * fields.count + 1)
        writer.bytes.append(version)
        for field in fields {
            guard let value = field.value else { continue }
            writer.write(field.name)
            writer.bytes.append(field.isEncrypted ? 1 : 0)
            writer.write(value)
        }
        return writer.bytes
    }

    static func encode(_ system: RecordSnapshot.SystemFields) -> [UInt8] {
        var writer = WriterOfFormat2()
        writer.bytes.append(version)
        writer.write(system.changeTag)
        writer.write(system.createdMilliseconds) { $0.write($1) }
        writer.write(system.creatorRecordName) { $0.write($1) }
        writer.write(system.modifiedMilliseconds) { $0.write($1) }
        writer.write(system.modifierRecordName) { $0.write($1) }
        writer.write(system.shareRecordName) { $0.write($1) }
        if let sharing = system.sharing { writer.write(sharing) }
        return writer.bytes
    }

    private mutating func write(length: Int) {
        var rest = UInt64(length)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func write(_ text: String) {
        write(length: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func write(_ data: [UInt8]) {
        write(length: data.count)
        bytes.append(contentsOf: data)
    }

    private mutating func write(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func write(_ number: Double) {
        write(Int64(bitPattern: number.bitPattern))
    }

    private mutating func write<Value>(
        _ value: Value?, _ body: (inout WriterOfFormat2, Value) -> Void
    ) {
        bytes.append(value == nil ? 0 : 1)
        if let value { body(&self, value) }
    }

    private mutating func write<Value>(
        list: [Value], _ body: (inout WriterOfFormat2, Value) -> Void
    ) {
        write(length: list.count)
        for value in list { body(&self, value) }
    }

    private mutating func write(_ location: Location) {
        write(location.latitude)
        write(location.longitude)
        for number in [
            location.horizontalAccuracy, location.verticalAccuracy, location.altitude,
            location.speed, location.course,
        ] {
            write(number) { $0.write($1) }
        }
        write(location.timestampMilliseconds) { $0.write($1) }
    }

    private mutating func write(_ reference: Reference) {
        write(reference.recordName)
        write(reference.action.rawValue)
        write(reference.zoneID) {
            $0.write($1.name)
            $0.write($1.ownerName)
        }
    }

    private mutating func write(_ receipt: AssetReceipt) {
        write(receipt.fileChecksum) { $0.write($1) }
        write(receipt.sizeBytes) { $0.write($1) }
        write(receipt.referenceChecksum) { $0.write($1) }
        write(receipt.wrappingKey) { $0.write($1) }
        write(receipt.receipt) { $0.write($1) }
        write(receipt.downloadURL) { $0.write($1) }
    }

    private mutating func write(_ value: FieldValue) {
        bytes.append(value.storedType)
        switch value {
        case .string(let string): write(string)
        case .int64(let number): write(number)
        case .double(let number): write(number)
        case .timestamp(let milliseconds, _): write(milliseconds)
        case .bytes(let data): write(data)
        case .location(let location): write(location)
        case .reference(let reference): write(reference)
        case .asset(let receipt): write(receipt)
        case .stringList(let list): write(list: list) { $0.write($1) }
        case .int64List(let list): write(list: list) { $0.write($1) }
        case .doubleList(let list): write(list: list) { $0.write($1) }
        case .timestampList(let list, _): write(list: list) { $0.write($1) }
        case .bytesList(let list): write(list: list) { $0.write($1) }
        case .locationList(let list): write(list: list) { $0.write($1) }
        case .referenceList(let list): write(list: list) { $0.write($1) }
        case .assetList(let list): write(list: list) { $0.write($1) }
        case .emptyList: break
        }
    }
}

extension FieldValue {
    /// The type's number on disk, which never changes and is never reused.
    fileprivate var storedType: UInt8 {
        switch self {
        case .string: 1
        case .int64: 2
        case .double: 3
        case .timestamp: 4
        case .bytes: 5
        case .location: 6
        case .reference: 7
        case .asset: 8
        case .stringList: 9
        case .int64List: 10
        case .doubleList: 11
        case .timestampList: 12
        case .bytesList: 13
        case .locationList: 14
        case .referenceList: 15
        case .assetList: 16
        case .emptyList: 17
        }
    }
}

/// For files that no cache has open: its own reads would find the older tables, and take the file for damaged.
extension DatabaseQueue {
    /// The tables of a file with one database, instead of today's.
    static let tablesOfFormat4 = """
        DROP TRIGGER recordAssetsMade;
        DROP TRIGGER recordAssetsChanged;
        DROP TRIGGER recordAssetsGone;
        DROP TRIGGER baseAssetsMade;
        DROP TRIGGER baseAssetsChanged;
        DROP TRIGGER baseAssetsGone;
        DROP INDEX pendingMoved;
        ALTER TABLE pending DROP COLUMN isSentAgain;
        ALTER TABLE pending DROP COLUMN isMoved;
        DROP TABLE assetReceipt;
        DROP TABLE assetUse;
        DROP TABLE asset;
        DROP TABLE event;
        DROP TABLE change;
        DROP TABLE report;
        CREATE TABLE oldZone (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL,
            state INTEGER NOT NULL, token TEXT, pass INTEGER NOT NULL DEFAULT 0,
            isRefetching INTEGER NOT NULL DEFAULT 0, needsFetch INTEGER NOT NULL DEFAULT 0,
            UNIQUE (name, owner));
        INSERT INTO oldZone SELECT id, name, owner, state, token, pass, isRefetching, needsFetch
            FROM zone;
        DROP TABLE zone;
        ALTER TABLE oldZone RENAME TO zone;
        CREATE TABLE oldTombstone (
            id INTEGER PRIMARY KEY, owner TEXT NOT NULL, zone TEXT NOT NULL, name TEXT NOT NULL,
            UNIQUE (owner, zone, name));
        INSERT INTO oldTombstone SELECT id, owner, zone, name FROM tombstone;
        DROP TABLE tombstone;
        ALTER TABLE oldTombstone RENAME TO tombstone;
        CREATE TABLE oldFlag (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        INSERT INTO oldFlag SELECT name, value FROM flag;
        DROP TABLE flag;
        ALTER TABLE oldFlag RENAME TO flag;
        """

    /// Changes the file to format 4, with the same content.
    func becomeFormatFour() throws {
        try writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    PRAGMA foreign_keys = OFF;
                    \(Self.tablesOfFormat4)
                    DELETE FROM grdb_migrations WHERE identifier NOT IN
                        ('tables', 'tombstones', 'fields as JSON', 'encrypted fields');
                    PRAGMA user_version = 4;
                    """)
        }
    }

    /// Changes the file to format 1 or 2, with the same content.
    func becomeFormat(_ format: Int) throws {
        try writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
        try write { database in
            for (table, key, system, fields) in [
                ("record", "id", "system", "fields"),
                ("pending", "sequence", "baseSystem", "baseFields"),
            ] {
                let rows = try Row.fetchAll(
                    database, sql: "SELECT \(key), \(system), \(fields) FROM \(table)")
                for row in rows {
                    try database.execute(
                        sql: "UPDATE \(table) SET \(system) = ?, \(fields) = ? WHERE \(key) = ?",
                        arguments: [
                            try (row[1] as Data?).map { data in
                                Data(
                                    WriterOfFormat2.encode(
                                        try data.withUnsafeBytes { try StoredSystem.decode($0) }))
                            },
                            try (row[2] as Data?).map { data in
                                Data(
                                    WriterOfFormat2.encode(
                                        try data.withUnsafeBytes { try StoredFields.decode($0) }))
                            },
                            row[0] as Int64,
                        ])
                }
            }
            try database.execute(
                sql: """
                    \(Self.tablesOfFormat4)
                    DROP TABLE grdb_migrations;
                    DROP TABLE encryptedField;
                    PRAGMA application_id = 0;
                    PRAGMA user_version = \(format);
                    """)
            guard format == 1 else { return }
            try database.execute(
                sql: """
                    DROP TABLE tombstone;
                    ALTER TABLE pending DROP COLUMN isMadeAnew;
                    ALTER TABLE pending DROP COLUMN isUncertain;
                    DELETE FROM flag WHERE name = 'userRecordName';
                    """)
        }
    }
}
