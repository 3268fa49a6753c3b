// The Swift of README.md and the guides, so that it is compiled. SnippetTests checks that every snippet
// stands here word for word; what a snippet leaves out (functions around it) is added here.
import CloudKit
import Foundation
import StratusCache
import StratusTesting

enum Snippets {
    static func runsOnBoth() async throws {
        let database = CKContainer(identifier: "iCloud.org.example.Trails").privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Trips")
        _ = try await database.save(zone)

        let hutID = CKRecord.ID(recordName: "hut-3", zoneID: zone.zoneID)
        let hut = CKRecord(recordType: "Hut", recordID: hutID)
        hut["name"] = "Gipfelblick"
        hut["beds"] = 24
        _ = try await database.save(hut)

        let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        print(changes.modificationResultsByID.count, "records; go on from", changes.changeToken)
    }

    static func worksOffline() async throws {
        let zone = CKRecordZone.ID(zoneName: "Trips")
        let cache = try RecordCache(
            path: "trails.sqlite", database: CKContainer.default().privateCloudDatabase)
        let hutID = CKRecord.ID(recordName: "hut-3", zoneID: zone)
        let hut = CKRecord(recordType: "Hut", recordID: hutID)
        hut["name"] = "Gipfelblick"
        try cache.save(hut)  // the row and its pending change, in one transaction; works offline
        try await cache.sync()  // or start(), which keeps in step by itself
    }

    /// Run by the tests as it stands.
    static func insideATest() async throws -> (saved: CKRecord, seen: CKRecord) {
        let cloud = TestCloud()
        let trails = "iCloud.org.example.Trails"
        let phone = try await cloud.container(trails, user: "alice", device: "phone")
        let tablet = try await cloud.container(trails, user: "alice", device: "tablet")
        let saved = try await phone.privateCloudDatabase.save(CKRecord(recordType: "Hut"))
        let seen = try await tablet.privateCloudDatabase.record(for: saved.recordID)
        return (saved, seen)
    }
}
