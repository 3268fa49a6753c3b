// A record that is saved without a network, and sent when there is one. Run it with the service stopped, then started:
//   STRATUS_URL=http://127.0.0.1:8080 STRATUS_DEV_USER=alice swift run
import CloudKit
import StratusCache

let container = CKContainer(identifier: "iCloud.org.example.Trails")
let cache = try CloudCache(path: "trails.sqlite", container: container)
let zone = CKRecordZone.ID(zoneName: "Trips")
let hutID = CKRecord.ID(recordName: "hut-4", zoneID: zone)
let hut = try cache.record(for: hutID) ?? CKRecord(recordType: "Hut", recordID: hutID)
hut["name"] = "Sonnblick"
hut["visits"] = (hut["visits"] as? Int ?? 0) + 1
try cache.save(hut)
print("kept here, visits:", hut["visits"] as? Int ?? 0)
do {
    try await cache.sync()
    print("in step with the service")
} catch {
    print("waits to be sent:", error.localizedDescription)
}
