import StratusClient
import StratusTesting
import Testing

/// References with the action `deleteSelf`, from an app's side.
@Suite struct DeleteSelfTests {
    @Test func missingTargetIsAReferenceViolation() async throws {
        let container = try await TestCloud().container(
            "iCloud.org.example.Trails", user: "ida", device: "phone")
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        let (list, item) = (hut("list"), hut("item"))
        item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        let error = await #expect(throws: CKError.self) { try await database.save(item) }
        #expect(error?.code == .referenceViolation)
        let saved = try await database.modifyRecords(saving: [item, list], deleting: [])
        #expect(try saved.saveResults.values.allSatisfy { try $0.get().recordChangeTag != nil })
        try await database.deleteRecord(withID: list.recordID)
        await #expect(throws: CKError.self) { try await database.record(for: item.recordID) }
    }
}
