// Two people and one zone: Ida shares it, Ole follows the link and sees what is in it. Needs `stratus serve --dev --memory`
// at STRATUS_URL (http://127.0.0.1:8080 unless set): both sign in by their names.
import CloudKit
import Foundation

func device(_ user: String) -> CKContainer {
    let url = ProcessInfo.processInfo.environment["STRATUS_URL"] ?? "http://127.0.0.1:8080"
    let connection = CloudConnection(environmentVariables: [
        "STRATUS_URL": url, "STRATUS_DEV_USER": user, "STRATUS_DEVICE_ID": "\(user)'s phone",
    ])
    return CKContainer(identifier: "iCloud.org.example.Trails", connection: connection)
}

let (ida, ole) = (device("ida"), device("ole"))
let zone = try await ida.privateCloudDatabase.save(CKRecordZone(zoneName: "Shared trips"))
let trail = CKRecord(
    recordType: "Trail", recordID: CKRecord.ID(recordName: "ridge", zoneID: zone.zoneID))
trail["region"] = "Alps"
let share = CKShare(recordZoneID: zone.zoneID)
share.publicPermission = .readOnly
let saved = try await ida.privateCloudDatabase.modifyRecords(
    saving: [trail, share], deleting: [], savePolicy: .allKeys)
guard let link = try (saved.saveResults[share.recordID]?.get() as? CKShare)?.url else {
    fatalError("The service gave the share \(share.recordID.recordName) no link; save it again.")
}
_ = try await ole.accept(try await ole.shareMetadata(for: link))
for zone in try await ole.sharedCloudDatabase.allRecordZones() {
    let changes = try await ole.sharedCloudDatabase.recordZoneChanges(
        inZoneWith: zone.zoneID, since: nil)
    print("Ole sees", changes.modificationResultsByID.count, "records of", zone.zoneID.zoneName)
}
