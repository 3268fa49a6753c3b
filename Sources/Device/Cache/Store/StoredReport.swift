import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// The stored form of a report's content: JSON.
struct StoredReport: Codable {
    /// The subject of the report that states how many others were dropped.
    static let dropped = "dropped"
    /// The kind of a report of a record that cannot be read.
    static let recordUnreadable = "recordUnreadable"

    struct Zone: Codable {
        var name: String
        var owner: String
    }

    struct Identity: StoredIdentity {
        var zone: Zone
        var name: String

        init(_ id: RecordID) {
            zone = Zone(name: id.zoneID.name, owner: id.zoneID.ownerName)
            name = id.name
        }

        var id: RecordID {
            RecordID(name: name, zoneID: ZoneID(name: zone.name, ownerName: zone.owner))
        }
    }

    typealias Record = StoredRecord<Identity>

    var zone: Zone?
    var reason: String?
    var names: [String]?
    var deletedNames: [String]?
    var isDeletion: Bool?
    var code: Int?
    var message: String?
    var records: [Record]?
    var count: Int?
    var isHalted: Bool?
    /// For a damaged file: the bases of the records, and changes without a record.
    var bases: [Record?]?
    var deletions: [Identity]?
    var unreadable: [Identity]?

    /// The kind, the subject (a later report of the same subject replaces this one) and the content
    /// of an event's report; nil for an event without one.
    static func parts(
        of event: CacheEvent
    ) throws -> (kind: String, subject: String, content: StoredReport)? {
        var content = StoredReport()
        switch event {
        case .zoneDeleted(let id, let reason, let lost):
            content.zone = Zone(ZoneID(id))
            content.reason = reason.stored
            content.names = lost.map(\.recordName)
            return ("zoneDeleted", "", content)
        case .zoneSetAside(let id, let failure):
            content.zone = Zone(ZoneID(id))
            content.set(failure)
            return ("zoneSetAside", "\(id.ownerName)/\(id.zoneName)", content)
        case .recordsMissing(let records):
            content.records = try records.map { Record(try RecordSnapshot($0)) }
            return ("recordsMissing", "", content)
        case .sharesLost(let shares):
            content.records = try shares.map { Record(try RecordSnapshot($0)) }
            return ("sharesLost", "", content)
        case .changesLost(let id, let sentAgain, let deletedAgain):
            content.zone = Zone(ZoneID(id))
            content.names = sentAgain.map(\.recordName)
            content.deletedNames = deletedAgain.map(\.recordName)
            return ("changesLost", "", content)
        case .editOverruled(let client, let server, let keys):
            content.names = keys
            content.records = [
                Record(try RecordSnapshot(client)), Record(try RecordSnapshot(server)),
            ]
            return ("editOverruled", "", content)
        case .remoteEditOverruled(let client, let server, let keys):
            content.names = keys
            content.records = [
                Record(try RecordSnapshot(client)), Record(try RecordSnapshot(server)),
            ]
            return ("remoteEditOverruled", "", content)
        case .newerRecords(let id, let type, let isHalted):
            content.zone = Zone(ZoneID(id))
            content.names = [type]
            content.isHalted = isHalted
            return ("newerRecords", "\(id.ownerName)/\(id.zoneName)/\(type)", content)
        case .recordUnreadable(let recordID, let failure):
            let id = RecordID(recordID)
            content.zone = Zone(id.zoneID)
            content.names = [id.name]
            content.set(failure)
            return (
                Self.recordUnreadable, "\(id.zoneID.ownerName)/\(id.zoneID.name)/\(id.name)",
                content
            )
        case .reportsDropped(let count):
            content.count = count
            return ("reportsDropped", Self.dropped, content)
        case .editOfDeletedRecord(let client):
            content.records = [Record(try RecordSnapshot(client))]
            return ("editOfDeletedRecord", "", content)
        case .setAside(let item):
            let id = RecordID(item.recordID)
            content.zone = Zone(id.zoneID)
            content.names = [id.name]
            content.isDeletion = item.kind == .delete
            content.set(item.failure)
            return ("setAside", "\(id.zoneID.ownerName)/\(id.zoneID.name)/\(id.name)", content)
        // This report is written when the new file is opened.
        case .fileDamaged: return nil
        case .quotaExceeded, .storageFull, .halted: return nil
        }
    }

    /// - Returns: nil for a kind that this release does not know.
    func event(kind: String, _ scope: CKDatabase.Scope) throws -> CacheEvent? {
        let zoneID = (zone ?? Zone(ZoneID())).id
        let failure = SyncFailure(
            code.flatMap { CKError.Code(rawValue: $0) } ?? .internalError, message: message ?? "")
        func recordIDs(_ names: [String]?) -> [CKRecord.ID] {
            (names ?? []).map { CKRecord.ID(RecordID(name: $0, zoneID: zoneID)) }
        }
        let ids = recordIDs(names)
        let snapshots = try (records ?? []).map { try $0.snapshot() }
        switch kind {
        case "zoneDeleted":
            return .zoneDeleted(
                CKRecordZone.ID(zoneID), reason: ZoneDeletionReason(stored: reason),
                lostChanges: ids)
        case "zoneSetAside": return .zoneSetAside(CKRecordZone.ID(zoneID), failure)
        case "recordsMissing":
            return .recordsMissing(try snapshots.map { try $0.missingRecord() })
        case "sharesLost":
            return .sharesLost(try snapshots.compactMap { try $0.record() as? CKShare })
        case "changesLost":
            return .changesLost(
                CKRecordZone.ID(zoneID), sentAgain: ids, deletedAgain: recordIDs(deletedNames))
        case "editOverruled":
            guard snapshots.count == 2 else { return nil }
            return .editOverruled(
                client: try snapshots[0].record(), server: try snapshots[1].record(),
                keys: names ?? [])
        case "remoteEditOverruled":
            guard snapshots.count == 2 else { return nil }
            return .remoteEditOverruled(
                client: try snapshots[0].record(), server: try snapshots[1].record(),
                keys: names ?? [])
        case "newerRecords":
            return .newerRecords(
                CKRecordZone.ID(zoneID), recordType: names?.first ?? "",
                isHalted: isHalted ?? false)
        case Self.recordUnreadable:
            guard let id = ids.first else { return nil }
            return .recordUnreadable(id, failure)
        case "fileDamaged": return try fileDamaged()
        case "reportsDropped": return .reportsDropped(count: count ?? 0)
        case "editOfDeletedRecord":
            guard let client = snapshots.first else { return nil }
            return .editOfDeletedRecord(client: try client.record())
        case "setAside":
            guard let id = ids.first else { return nil }
            return .setAside(
                AttentionItem(
                    scope: scope, recordID: id, kind: isDeletion == true ? .delete : .save,
                    failure: failure))
        default: return nil
        }
    }

    private mutating func set(_ failure: SyncFailure) {
        code = failure.code.rawValue
        message = failure.message
    }
}

extension StoredReport.Zone {
    init(_ id: ZoneID) { self.init(name: id.name, owner: id.ownerName) }

    var id: ZoneID { ZoneID(name: name, ownerName: owner) }
}

extension ZoneDeletionReason {
    fileprivate var stored: String {
        switch self {
        case .deleted: "deleted"
        case .purged: "purged"
        case .encryptedDataReset: "encryptedDataReset"
        }
    }

    fileprivate init(stored: String?) {
        self =
            switch stored {
            case "purged": .purged
            case "encryptedDataReset": .encryptedDataReset
            default: .deleted
            }
    }
}

extension StoredReport {
    /// The stored form; the same content gives the same bytes.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(self)
    }
}
