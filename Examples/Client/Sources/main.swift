// One record saved and read back, at the service that STRATUS_URL names. With `stratus serve --dev --memory`:
//   STRATUS_URL=http://127.0.0.1:8080 STRATUS_DEV_USER=alice swift run
// Without --dev it signs in: STRATUS_API_TOKEN is the app's (`stratus token create --loopback`).
import CloudKit

let container = CKContainer(identifier: "iCloud.org.example.Trails")
if try await container.accountStatus() == .noAccount { try await container.signIn() }
let database = container.privateCloudDatabase
let zone = try await database.save(CKRecordZone(zoneName: "Trips"))

let hutID = CKRecord.ID(recordName: "hut-3", zoneID: zone.zoneID)
let hut: CKRecord
do {
    hut = try await database.record(for: hutID)
} catch CKError.unknownItem {
    // The first run has no record yet.
    hut = CKRecord(recordType: "Hut", recordID: hutID)
}
hut["name"] = "Gipfelblick"
hut["visits"] = (hut["visits"] as? Int ?? 0) + 1
let saved = try await database.save(hut)
print("visits:", saved["visits"] as? Int ?? 0)
