import StratusRecords
import StratusStorage
import StratusWire

/// What a change of a shared zone leaves in the owner's outbox for the participants.
///
/// Format 1: the byte 0x53; zone name, user and device as counted strings; the number of views as four
/// bytes, then each: root (optional) and record type; the number of users as four bytes, then each.
struct ShareEvent: Hashable, Sendable {
    /// A part of the zone in which something of a type changed.
    struct View: Hashable, Sendable {
        /// The root of the share; nil for records without one.
        var root: String?
        var recordType: String
    }

    var zoneName: String
    /// Who made the change. The device that made it is not notified.
    var user: String
    var device: String
    var views: Set<View> = []
    /// The users who gained or lost access by it.
    var affected: Set<String> = []

    private static let format: UInt8 = 0x53

    init(zoneName: String, user: String, device: String) {
        self.zoneName = zoneName
        self.user = user
        self.device = device
    }

    /// Adds the views in which a record is, and was before.
    mutating func add(_ row: RecordRow, old: RecordRow?) {
        for row in [row, old].compactMap({ $0 }) {
            views.insert(View(root: row.shareRoot, recordType: row.type))
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(zoneName: zoneName, user: user, device: device)
        writer.write(all: views) { writer, view in
            writer.write(view.root)
            writer.write(view.recordType)
        }
        writer.write(all: affected) { $0.write($1) }
        return writer.bytes
    }
}

extension ShareEvent {
    /// Nil when the bytes are another kind of event.
    init?(bytes: [UInt8]) {
        guard bytes.first == Self.format else { return nil }
        var reader = ByteReader(bytes)
        do {
            _ = try reader.byte()
            self.init(
                zoneName: try reader.string(), user: try reader.string(),
                device: try reader.string())
            let viewCount: UInt32 = try reader.number()
            for _ in 0..<viewCount {
                views.insert(
                    View(root: try reader.optionalString(), recordType: try reader.string()))
            }
            let userCount: UInt32 = try reader.number()
            for _ in 0..<userCount { affected.insert(try reader.string()) }
        } catch {
            // Written by another version: there is no notification, which is only a hint.
            return nil
        }
    }

    /// The record types of the changes that a person with this access can see.
    func recordTypes(seenWith access: [ShareAccessRow]) -> Set<String> {
        let roots = Set(access.map(\.root))
        let seesAll = roots.contains(nil)
        return Set(
            views.filter { seesAll || $0.root != nil && roots.contains($0.root) }
                .map(\.recordType))
    }
}
