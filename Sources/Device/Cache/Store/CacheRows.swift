import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

// The rows of the cache's tables, read by column position: this is the hot path.

/// A zone as the file has it.
struct ZoneRow {
    enum State: Int {
        case wanted = 0
        case existing = 1
        case unwanted = 2
        /// To be deleted, then made again.
        case replaced = 3
        /// The service will not make it; its records stay here.
        case refused = 4
        /// Neither fetched nor sent: its records are this device's own for now. With the token `gone` the service
        /// has it no more.
        case detached = 5
    }

    static let gone = "gone"

    var key: Int64
    var id: ZoneID
    var state: State
    var token: String?
    var pass: Int64
    var isRefetching: Bool
    /// Whether the full fetch that is under way, or the one before, is the first: `isRefetching` is 2.
    var isFirstFetch: Bool

    /// Whether the service may have records of it that belong here.
    var isFetched: Bool { state == .existing || state == .wanted }

    /// Whether no page of it was fetched yet.
    var isNew: Bool { token == nil && (pass == 0 || isRefetching && isFirstFetch) }

    static let columns = "id, name, owner, state, token, pass, isRefetching"

    init(_ row: Row) {
        key = row[0]
        id = ZoneID(name: row[1], ownerName: row[2])
        // Only this app's versions write the column; an unknown number is treated as existing.
        state = State(rawValue: row[3]) ?? .existing
        token = row[4]
        pass = row[5]
        let refetching: Int = row[6]
        isRefetching = refetching != 0
        isFirstFetch = refetching == 2 || pass < 2
    }
}

/// A pending change as the file has it, with its base.
struct PendingRow {
    var sequence: Int64
    var change: PendingChange
    var editedMilliseconds: Int64
    var base: RecordSnapshot?
    /// Marks of fields as earlier edits left them that the service may have; see `RecordSnapshot.mark`.
    var earlier: [UInt64]
    var failure: SyncFailure?
    /// The record was deleted here before it was made again: its base is the old one, or none where the
    /// service has confirmed the deletion, which the zone's changes may still tell.
    var isMadeAnew: Bool
    var delivery: Delivery

    /// What is known of the change's way to the service. Written down before a batch leaves.
    enum Delivery: Int {
        case notSent = 0
        /// Sent earlier, and nobody knows whether it arrived.
        case unknown = 1
        /// Sent for the first time, and not answered; after a crash as good as unknown.
        case underWay = 2
    }

    /// How many columns there are.
    static let columnCount = 16

    static let columns = """
        sequence, pending.name, kind, generation, edited, baseType, baseSystem, baseParent, baseFields, \
        earlier, rounds, attempts, errorCode, errorMessage, isMadeAnew, isUncertain
        """

    init(_ row: Row, zone: ZoneID) throws {
        sequence = row[0]
        let id = RecordID(name: row[1], zoneID: zone)
        let kind: PendingChange.Kind = row[2] as Int == 1 ? .delete : .save
        change = PendingChange(
            id: id, kind: kind, generation: row[3], conflictRounds: row[10], attempts: row[11])
        editedMilliseconds = row[4]
        if let type = row[5] as String? {
            base = try RecordSnapshot(row, id: id, type: type, at: 6)
        }
        earlier = SentMarks.list(row[9] as Data)
        if let code = (row[12] as Int?).map({ CKError.Code(rawValue: $0) ?? .internalError }) {
            failure = SyncFailure(code, message: row[13] ?? "")
        }
        isMadeAnew = row[14]
        // Only this app's versions write the column; an unknown number is treated as the unknown.
        delivery = Delivery(rawValue: row[15]) ?? .unknown
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
            id: id, type: type, system: system, parentRecordName: row[column + 1], fields: fields)
    }

    var systemData: Data? { system.map { StoredSystem.encode($0) } }
    var fieldsData: Data { StoredFields.encode(fields) }
}

/// Marks of values that this device sent, as they lie on disk.
enum SentMarks {
    /// Marks kept of one record at the most; the oldest give way.
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
