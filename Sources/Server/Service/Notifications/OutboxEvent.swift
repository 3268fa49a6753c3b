import StratusRecords
import StratusStorage
import StratusWire

/// What a save or a zone operation leaves in the outbox for the subscribers.
///
/// Format 2: the byte 2; the subject's byte; zone name, user and device as counted strings; the number
/// of changes as four bytes; then each change: record name, record type, the reason's byte, and 0, or 1
/// and the row that queries are matched with.
struct OutboxEvent: Hashable, Sendable {
    struct Change: Hashable, Sendable {
        var recordName: String
        var recordType: String
        var reason: NotificationPayload.Reason
        /// The record after the change, or before its deletion; only when a query subscription may have to compare it.
        var row: RecordRow?
    }

    /// What happened. The raw values are stored.
    enum Subject: UInt8 {
        case records = 0
        case zoneCreated = 1
        case zoneDeleted = 2
    }

    var zoneName: String
    /// Who made the change. The device that made it is not notified.
    var user: String
    var device: String
    /// Empty when no subscription asks about single records, and when the zone itself was created or deleted.
    var changes: [Change]
    var subject = Subject.records

    private static let format: UInt8 = 2

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(subject.rawValue)
        writer.write(zoneName: zoneName, user: user, device: device)
        writer.write(all: changes) { writer, change in
            writer.write(change.recordName)
            writer.write(change.recordType)
            writer.write(UInt8(change.reason.rawValue))
            writer.write(change.row == nil ? 0 : 1 as UInt8)
            if let row = change.row { Self.write(row, to: &writer) }
        }
        return writer.bytes
    }

    private static func write(_ row: RecordRow, to writer: inout ByteWriter) {
        writer.write(number: row.createdMilliseconds)
        writer.write(number: row.modifiedMilliseconds)
        writer.write(row.creator)
        writer.write(row.modifier)
        writer.write(row.parent)
        writer.write(counted: row.payload)
    }
}

extension OutboxEvent {
    /// - Throws: ``ByteReader/Malformed`` when the bytes are of another version.
    init(bytes: [UInt8]) throws(ByteReader.Malformed) {
        var reader = ByteReader(bytes)
        guard try reader.byte() == Self.format, let subject = Subject(rawValue: try reader.byte())
        else { throw ByteReader.Malformed() }
        self.subject = subject
        zoneName = try reader.string()
        user = try reader.string()
        device = try reader.string()
        let count: UInt32 = try reader.number()
        changes = []
        for _ in 0..<count {
            let recordName = try reader.string()
            let recordType = try reader.string()
            guard let reason = NotificationPayload.Reason(rawValue: Int(try reader.byte())) else {
                throw ByteReader.Malformed()
            }
            let hasRow = try reader.byte() == 1
            changes.append(
                Change(
                    recordName: recordName, recordType: recordType, reason: reason,
                    row: hasRow ? try Self.row(recordName, recordType, from: &reader) : nil))
        }
    }

    /// The part of a row that queries compare; the rest is left empty.
    private static func row(
        _ name: String, _ type: String, from reader: inout ByteReader
    ) throws(ByteReader.Malformed) -> RecordRow {
        RecordRow(
            zone: ZoneRow.Key(rawValue: 0), name: name, type: type, version: 0, commitVersion: 0,
            changeTag: "", isDeleted: false, creatorDevice: "",
            createdMilliseconds: try reader.number(), modifiedMilliseconds: try reader.number(),
            creator: try reader.string(), modifier: try reader.string(), modifierDevice: "",
            parent: try reader.optionalString(), shareRoot: nil, payload: try reader.counted())
    }
}
