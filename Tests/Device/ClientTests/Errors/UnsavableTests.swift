import Foundation
import StratusClient
import StratusTesting
import Testing

/// Values that Apple's objects accept and Apple's service refuses: none of them ends the process here.
@Suite struct UnsavableTests {
    private func refusal(of record: CKRecord) async throws -> CKError.Code? {
        let database = try await Trip().ida.privateCloudDatabase
        return await codeOf { try await database.save(record) }
    }

    @Test(arguments: ["_name", "___modTime", "__"])
    func leadingUnderscoreInKeyIsRefusedAtSave(_ key: String) async throws {
        let record = hut("a")
        record[key] = "Gipfel"
        #expect(record[key] as? String == "Gipfel" && record.allKeys() == [key])
        #expect(try await refusal(of: record) == .permissionFailure)
        let encrypted = hut("b")
        encrypted.encryptedValues[key] = "secret"
        #expect(try await refusal(of: encrypted) == .permissionFailure)
        // In a request with several records only the bad one fails.
        let zone = CKRecordZone.ID.default
        let good = CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: "c", zoneID: zone))
        let bad = CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: "d", zoneID: zone))
        bad[key] = 1
        let results = try await Trip().ida.privateCloudDatabase
            .modifyRecords(saving: [good, bad], deleting: [], atomically: false).saveResults
        #expect(try results[good.recordID]?.get().recordChangeTag != nil)
        #expect(await codeOf { _ = try results[bad.recordID]?.get() } == .permissionFailure)
    }

    @Test(arguments: [
        "", "1name", "the name", "naïve", "name.first", "cloudkit.title",
        String(repeating: "k", count: 256),
    ])
    func invalidKeyIsRefusedAtSave(_ key: String) async throws {
        let record = hut("a")
        record.setObject("Gipfel" as CKRecordValue, forKey: key)
        #expect(record.object(forKey: key) as? String == "Gipfel")
        #expect(try await refusal(of: record) == .invalidArguments)
        record[key] = nil
        #expect(try await refusal(of: record) == nil)
    }

    @Test(arguments: ["_Hut", "1Hut", "Hütte", String(repeating: "h", count: 256)])
    func invalidRecordTypeIsRefusedAtSave(_ type: String) async throws {
        let record = CKRecord(recordType: type, recordID: hut("a").recordID)
        #expect(try await refusal(of: record) == .invalidArguments)
    }

    @Test func longNamesAreRefusedAtSave() async throws {
        let name = String(repeating: "n", count: 256)
        let record = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: name, zoneID: trips))
        #expect(try await refusal(of: record) == .invalidArguments)
        let database = try await Trip().ida.privateCloudDatabase
        let zone = CKRecordZone(zoneName: name)
        #expect(await codeOf { try await database.save(zone) } == .invalidArguments)
        let nobodys = CKRecordZone.ID(zoneName: "Trips", ownerName: "")
        let elsewhere = CKRecord.ID(recordName: "a", zoneID: nobodys)
        #expect(await codeOf { _ = try await database.record(for: elsewhere) } != nil)
    }

    @Test func encryptedReferenceAndAssetAreRefusedAtSave() async throws {
        let reference = hut("a")
        reference.encryptedValues["next"] = CKRecord.Reference(record: reference, action: .none)
        #expect(try await refusal(of: reference) == .invalidArguments)
        let asset = hut("b")
        asset.encryptedValues["photos"] = [CKAsset(fileURL: URL(fileURLWithPath: "/photo"))]
        #expect(try await refusal(of: asset) == .invalidArguments)
    }

    @Test func participantOfPublicShareIsRefusedAtSave() async throws {
        let trip = try await Trip()
        let share = CKShare(rootRecord: trip.trail)
        share.publicPermission = .readOnly
        share.addParticipant(try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org"))
        let results = try await trip.ida.privateCloudDatabase.modifyRecords(
            saving: [trip.trail, share], deleting: [])
        let refusal = await codeOf { _ = try results.saveResults[share.recordID]?.get() }
        #expect(refusal == .invalidArguments)
    }

    @Test func finishedOperationIsNotStartedAgain() async throws {
        let trip = try await Trip()
        let operation = CKFetchRecordsOperation(recordIDs: [trip.trail.recordID])
        await run(operation, on: trip.ida.privateCloudDatabase)
        operation.start()
        #expect(operation.isFinished && !operation.isExecuting)
    }
}
