import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusSync

/// Creates a cache file with every kind of row; see README.md.
@main
struct MakeCache {
    static let notes = ZoneID(name: "Notes")
    static let photos = ZoneID(name: "Photos")
    static let trips = ZoneID(name: "Trips", ownerName: "_bob")
    static let gone = ZoneID(name: "Gone", ownerName: "_bob")

    static func main() async throws {
        let path = CommandLine.arguments[1]
        var settings = SyncSettings()
        settings.isAtomic = false
        settings.listensForNotifications = false
        settings.firstRetryDelaySeconds = 0.01
        settings.minimumDelaySeconds = 0
        settings.coalescingSeconds = 0
        let cache = try CloudCache(
            path: path,
            remotes: [ScriptedService(scope: .private), ScriptedService(scope: .shared)],
            settings: settings, world: .init(nowMilliseconds: { 1_790_000_000_000 }))
        let owner = CKCurrentUserDefaultName
        try await cache.createZone(CKRecordZone.ID(zoneName: "Archive", ownerName: owner))
        try cache.save([
            LocalEdit(
                id: RecordID(name: "waiting", zoneID: ZoneID(name: "Refused")), type: "Note",
                changes: [], initial: [Field(name: "title", value: .string("zone refused"))])
        ])
        try await cache.sync()
        // Meanwhile a record and a shared zone are deleted elsewhere.
        try await cache.sync()
        // One file is uploaded, and its record saved.
        try cache.save(try photo("photo", "at the service\n"))
        try await cache.sync()
        // The changes of one device while the service answers: one change is refused, one conflicts, and the
        // answer to the next one is lost.
        try cache.save([edit("refused", "title", .string("too long"))])
        // Twice, the second time without the times of its fields; then it is set aside.
        try await cache.sync()
        try cache.save([edit("conflict", "title", .string("from this device"))])
        try await syncInVain(cache)
        try cache.save([
            LocalEdit(
                id: id("lost answer"), type: "Note", changes: [],
                initial: [Field(name: "title", value: .string("sent, perhaps"))])
        ])
        try await syncInVain(cache)
        await cache.setEnabled(false)
        try offline(cache)
        try cache.close()
    }

    static func syncInVain(_ cache: CloudCache) async throws {
        do {
            try await cache.sync()
        } catch let error as CacheError where error.code == .notSynced {
            // As intended: the answer to the last change was lost.
            return
        }
        throw Stop(sentence: "The service answered everything.")
    }

    /// The changes of one device without a network.
    static func offline(_ cache: CloudCache) throws {
        // Without effect, since the record was deleted: the app is notified.
        try cache.save([edit("deleted elsewhere", "title", .string("too late"))])
        try cache.save([
            LocalEdit(
                id: id("untouched"), type: "Note",
                changes: [Field(name: "diary", value: .string("encrypted"), isEncrypted: true)],
                isKnown: true)
        ])
        let stage = RecordID(name: "stage 1", zoneID: trips)
        try cache.save(
            [
                LocalEdit(
                    id: stage, type: "Note",
                    changes: [Field(name: "title", value: .string("edited offline"))],
                    isKnown: true)
            ], deleting: [RecordID(name: "stage 2", zoneID: trips)], in: .shared)
        try cache.save([
            edit("every type", "text", .string("edited offline")),
            LocalEdit(
                id: id("new"), type: "Note", changes: [],
                initial: EveryFieldType.fields, initialParent: "every type"),
        ])
        try cache.save([edit("every type", "text", .string("edited twice offline"))])
        try cache.save([], deleting: [id("deleted offline"), id("made anew")])
        try cache.save([
            LocalEdit(
                id: id("made anew"), type: "Note", changes: [],
                initial: [Field(name: "title", value: .string("second life"))])
        ])
        try cache.save(try photo("new photo", "not sent\n"))
        let owner = CKCurrentUserDefaultName
        try cache.createZone(CKRecordZone.ID(zoneName: "Wanted", ownerName: owner))
        try cache.deleteZone(CKRecordZone.ID(zoneName: "Archive", ownerName: owner))
        try cache.deleteZone(CKRecordZone.ID(zoneName: "Replaced", ownerName: owner))
        try cache.save([
            LocalEdit(
                id: RecordID(name: "first", zoneID: ZoneID(name: "Replaced")), type: "Note",
                changes: [], initial: [Field(name: "title", value: .string("after replacing"))])
        ])
    }

    /// A record with a file.
    static func photo(_ name: String, _ content: String) throws -> CKRecord {
        let file = URL(fileURLWithPath: CommandLine.arguments[1] + "-source")
        try Data(content.utf8).write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(id(name)))
        record["image"] = CKAsset(fileURL: file)
        return record
    }

    static func id(_ name: String) -> RecordID { RecordID(name: name, zoneID: notes) }

    static func edit(_ name: String, _ field: String, _ value: FieldValue) -> LocalEdit {
        LocalEdit(
            id: id(name), type: "Note", changes: [Field(name: field, value: value)], isKnown: true)
    }
}

struct Stop: Error { let sentence: String }

/// Answers the cache's requests in the same way each time.
struct ScriptedService: RemoteDatabase {
    let scope: CKDatabase.Scope

    func userRecordName() async throws -> String { "_alice" }
    func accountChanges() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    func hints() -> AsyncStream<HintEvent> { AsyncStream { $0.finish() } }
    func hint(of notification: CKNotification) -> ChangeHint? { nil }
    func saveSubscription(wasSaved: Bool) async throws -> Bool { !wasSaved }

    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        ids.map { _ in .failure(SyncFailure(.networkFailure, message: "The connection was lost.")) }
    }

    var deviceID: String { "phone" }
    func cancel(_ operations: [UnansweredOperation]) async throws {}

    func modifyZones(
        create: [ZoneID], delete: [ZoneID], generations: [ZoneID: Int64], operationID: String
    ) async throws -> ZoneOutcomes {
        var outcomes = ZoneOutcomes()
        for zone in create {
            outcomes.created[zone] = SyncFailure?.none
            if zone.name == "Refused" {
                outcomes.created[zone] = SyncFailure(
                    .permissionFailure, message: "No such zone for you.")
            }
        }
        for zone in delete { outcomes.deleted[zone] = SyncFailure?.none }
        return outcomes
    }

    func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt {
        AssetReceipt(
            fileChecksum: "DDDDDDDDDDDDDDDDDDDDDDDDDDDD", sizeBytes: asset.sizeBytes,
            receipt: "receipt")
    }

    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage {
        switch (scope, token) {
        case (.shared, nil):
            DatabasePage(changed: [MakeCache.trips, MakeCache.gone], token: "shared-1")
        case (.shared, "shared-1"):
            DatabasePage(deleted: [(MakeCache.gone, .deleted)], token: "shared-2")
        case (.shared, _): DatabasePage(token: "shared-2")
        case (_, nil):
            DatabasePage(
                changed: [
                    MakeCache.notes, MakeCache.photos, ZoneID(name: "Archive"),
                    ZoneID(name: "Replaced"),
                ],
                token: "database-1")
        case (_, "database-1"): DatabasePage(changed: [MakeCache.notes], token: "database-2")
        default: DatabasePage(token: "database-2")
        }
    }

    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage {
        guard token == nil else {
            let isLater = token == "Notes-1"
            return ZonePage(
                deletedNames: isLater ? ["deleted elsewhere"] : [], token: zone.name + "-2")
        }
        switch zone.name {
        case "Notes":
            let names = [
                "conflict", "deleted elsewhere", "deleted offline", "made anew", "refused",
                "untouched",
            ]
            return ZonePage(
                records: names.map {
                    record($0, zone, [Field(name: "title", value: .string("from the service"))])
                } + [record("every type", zone, EveryFieldType.fields)],
                token: "Notes-1")
        case "Photos":
            var shared = record("beach", zone, [])
            shared.system?.shareRecordName = "share of beach"
            shared.parentRecordName = "album"
            var share = record("share of beach", zone, [])
            share.type = "cloudkit.share"
            share.system?.sharing = Array(#"{"participants":[]}"#.utf8)
            return ZonePage(
                records: [shared, share, record("album", zone, [])], deletedNames: ["gone"],
                token: "Photos-1")
        case "Trips", "Gone":
            return ZonePage(
                records: ["stage 1", "stage 2"].map {
                    record($0, zone, [Field(name: "title", value: .string("from Bob"))])
                }, token: zone.name + "-1")
        default: return ZonePage(token: zone.name + "-1")
        }
    }

    func send(
        _ changes: [OutgoingChange], isAtomic: Bool, operationID: String
    ) async throws -> [OutgoingAnswer] {
        try changes.map { item in
            switch item.change.id.name {
            case "refused":
                return .failed(
                    SyncFailure(.invalidArguments, message: "The title is too long."), server: nil)
            case "conflict" where item.change.conflictRounds == 0:
                var server = record(
                    "conflict", item.change.id.zoneID,
                    [Field(name: "title", value: .string("from the tablet"))])
                server.system?.changeTag = "tag-2"
                return .failed(SyncFailure(.serverRecordChanged), server: server)
            case "photo": return .saved(.init(changeTag: "tag-1"))
            default: throw SyncFailure(.networkFailure, message: "The connection was lost.")
            }
        }
    }

    private func record(_ name: String, _ zone: ZoneID, _ fields: [Field]) -> RecordSnapshot {
        RecordSnapshot(
            id: RecordID(name: name, zoneID: zone), type: "Note",
            system: .init(
                changeTag: "tag-1", createdMilliseconds: 1_780_000_000_000,
                creatorRecordName: "_alice", modifiedMilliseconds: 1_780_000_001_000,
                modifierRecordName: "_bob"),
            fields: fields)
    }
}
