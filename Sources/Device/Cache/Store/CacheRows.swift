import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSQLite
import StratusSync

// The rows of the cache's tables, read by column position: this is the hot path.

/// The row of a zone.
struct CachedZoneRow {
    enum State: Int {
        case wanted = 0
        case existing = 1
        case unwanted = 2
        /// To be deleted, then created again.
        case replaced = 3
        /// The service refused to create it; its records stay here.
        case refused = 4
        /// Neither fetched nor sent. The token `gone` means that the zone no longer exists at the
        /// service.
        case detached = 5
    }

    static let gone = "gone"

    var key: Int64
    var id: ZoneID
    var state: State
    var token: String?
    var pass: Int64
    var isRefetching: Bool
    /// Whether the current or last full fetch is the zone's first: `isRefetching` is 2.
    var isFirstFetch: Bool

    /// Whether the zone is synced, so that the service may have records of it for this device.
    var isFetched: Bool { state == .existing || state == .wanted }

    /// Whether no page of it has been fetched yet.
    var isNew: Bool { token == nil && (pass == 0 || isRefetching && isFirstFetch) }

    static let columns = "id, name, owner, state, token, pass, isRefetching"

    /// - Parameter row: begins with ``columns``.
    init(_ row: SQLStatement) throws {
        key = try row.storedInteger(0)
        id = ZoneID(name: try row.storedText(1), ownerName: try row.storedText(2))
        // Only this app's versions write the column; an unknown number is treated as existing.
        state = State(rawValue: Int(try row.storedInteger(3))) ?? .existing
        token = row.isNull(4) ? nil : try row.storedText(4)
        pass = try row.storedInteger(5)
        let refetching = try row.storedInteger(6)
        isRefetching = refetching != 0
        isFirstFetch = refetching == 2 || pass < 2
    }
}

extension CachedZoneRow {
    /// - Parameter condition: the condition in SQL, optionally followed by an order.
    static func all(where condition: String, _ database: Database) throws -> [CachedZoneRow] {
        try SQLStatement(database, "SELECT \(columns) FROM zone WHERE \(condition)")
            .all { try CachedZoneRow($0) }
    }
}

/// Reads columns that are NULL only if the file is damaged.
extension SQLStatement {
    func storedInteger(_ column: Int32) throws -> Int64 {
        guard isInteger(column) else { throw CacheError.damagedRow }
        return integer(column)
    }

    func storedText(_ column: Int32) throws -> String {
        guard isText(column) else { throw CacheError.damagedRow }
        return text(column)
    }
}

/// The row of a pending change, with its base.
struct PendingRow {
    var sequence: Int64
    var change: PendingChange
    var editedMilliseconds: Int64
    var base: RecordSnapshot?
    /// Marks of fields after earlier edits, which the service may have; see `RecordSnapshot.mark`.
    var earlier: [UInt64]
    var failure: SyncFailure?
    /// Whether the record was deleted here before it was created again: its base is the former
    /// record, or nil if the service has confirmed that deletion, which the zone's changes may
    /// still report.
    var isRecreated: Bool
    /// Whether the service lost the record and it is sent again: other devices may have sent it too, and deleted it
    /// since.
    var isSentAgain: Bool
    var delivery: Delivery
    /// Whether the record's DELETE_SELF references at the service are to other records than here; see ``Departures``.
    var isMoved: Bool

    /// Whether the change may have reached the service. Stored before a batch is sent.
    enum Delivery: Int {
        case notSent = 0
        /// Sent earlier; it is not known whether it arrived.
        case unknown = 1
        /// Sent for the first time and not answered yet; after a crash the same as unknown.
        case underWay = 2
    }

    /// Whether it must wait for the zone's changes; see `CacheStore.isUnanswered`.
    var isUnanswered: Bool {
        delivery != .notSent && (change.kind == .delete || base?.system == nil || isRecreated)
    }

    /// Whether it changes a new record, and the zone's changes have not reported the deletion of the former one yet;
    /// see `CacheStore.waitsForDeletion`.
    var waitsForDeletion: Bool { isRecreated && base == nil }

    /// Whether it creates a record that the service does not have, under a name that it never had.
    var isNeverSent: Bool {
        change.kind == .save && base == nil && delivery == .notSent && !isRecreated && !isSentAgain
    }

    /// The number of columns.
    static let columnCount = 18

    static let columns = """
        sequence, pending.name, kind, generation, edited, baseType, baseSystem, baseParent, baseFields, \
        earlier, rounds, attempts, errorCode, errorMessage, isMadeAnew, isUncertain, isSentAgain, isMoved
        """

    init(_ row: Row, zone: ZoneID) throws {
        sequence = try row.decode(atIndex: 0)
        let id = RecordID(name: try row.decode(atIndex: 1), zoneID: zone)
        let isDeletion = try row.decode(Int.self, atIndex: 2) == 1
        change = PendingChange(
            id: id, kind: isDeletion ? .delete : .save, generation: try row.decode(atIndex: 3),
            conflictRounds: try row.decode(atIndex: 10), attempts: try row.decode(atIndex: 11))
        // These numbers are incremented later.
        let most = max(Int(change.generation), change.conflictRounds, change.attempts)
        let least = min(Int(change.generation), change.conflictRounds, change.attempts)
        guard least >= 0, most < Int(Int32.max) else { throw CacheError.damagedNumber }
        editedMilliseconds = try row.decode(atIndex: 4)
        if let type = try row.decode(String?.self, atIndex: 5) {
            base = try RecordSnapshot(row, id: id, type: type, at: 6)
        }
        earlier = SentMarks.list(try row.decode(atIndex: 9))
        if let code = try row.decode(Int?.self, atIndex: 12) {
            failure = SyncFailure(
                CKError.Code(rawValue: code) ?? .internalError,
                message: try row.decode(String?.self, atIndex: 13) ?? "")
        }
        isRecreated = try row.decode(atIndex: 14)
        // Only this app's versions write the column; an unknown number is treated as `unknown`.
        delivery = Delivery(rawValue: try row.decode(atIndex: 15)) ?? .unknown
        isSentAgain = try row.decode(atIndex: 16)
        isMoved = try row.decode(atIndex: 17)
    }
}

extension RecordID {
    /// Reads a record's name and its zone's name and owner.
    init(_ row: Row, at column: Int = 0) throws {
        self.init(
            name: try row.decode(atIndex: column),
            zoneID: ZoneID(
                name: try row.decode(atIndex: column + 1),
                ownerName: try row.decode(atIndex: column + 2)))
    }
}

extension RecordSnapshot {
    static let columns = "type, system, parent, fields"

    /// Reads a record whose system fields, parent and fields start at this column.
    init(_ row: Row, id: RecordID, type: String, at column: Int) throws {
        let system: SystemFields? = try row.withUnsafeData(atIndex: column) { data in
            try data?.withUnsafeBytes { try StoredSystem.decode($0) }
        }
        let fields: [Field] = try row.withUnsafeData(atIndex: column + 2) { data in
            try data?.withUnsafeBytes { try StoredFields.decode($0) } ?? []
        }
        self.init(
            id: id, type: type, system: system,
            parentRecordName: try row.decode(atIndex: column + 1), fields: fields)
    }

    var systemData: Data? { system.map { StoredSystem.encode($0) } }
    var fieldsData: Data { StoredFields.encode(fields) }
}

/// The stored form of marks of values that this device sent.
enum SentMarks {
    /// The maximum number of marks of one record; the oldest are dropped.
    static let listLimit = 64

    static func list(_ data: Data) -> [UInt64] {
        data.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
    }

    static func data(_ list: [UInt64]) -> Data {
        var data = Data()
        for mark in list.suffix(listLimit) {
            withUnsafeBytes(of: mark.littleEndian) { data.append(contentsOf: $0) }
        }
        return data
    }
}
