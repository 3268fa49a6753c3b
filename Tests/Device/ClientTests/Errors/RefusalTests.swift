import Foundation
import StratusClient
import StratusTesting
import Testing

/// Mistakes that Apple's framework reports as an error and not as an exception. So does this one, when the work is
/// done.
@Suite struct RefusalTests {
    @Test(arguments: ["_hut", "Hütte", "tab\tulator"])
    func serviceRefusesInvalidRecordName(_ name: String) async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let record = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: name, zoneID: trips))
        #expect(await codeOf { try await database.save(record) } == .invalidArguments)
    }

    @Test(arguments: ["_trips", "Ausflüge"])
    func serviceRefusesInvalidZoneName(_ name: String) async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let failure = await codeOf { try await database.save(CKRecordZone(zoneName: name)) }
        #expect(failure == .invalidArguments)
    }

    @Test func mixedValueTypesInListAreRefused() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let record = hut("mixed")
        record["mixed"] = NSArray(array: ["a" as NSString, NSNumber(value: 1)])
        #expect(await codeOf { try await database.save(record) } == .invalidArguments)
    }

    @Test func plainFieldCannotBecomeEncrypted() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        trip.trail.encryptedValues["region"] = "secret"
        #expect(await codeOf { try await database.save(trip.trail) } == .invalidArguments)
    }

    @Test func referenceAcrossZonesIsRefused() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let record = hut("a")
        record["elsewhere"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "b"), action: .none)
        #expect(await codeOf { try await database.save(record) } == .invalidArguments)
        let child = hut("child")
        child.setParent(CKRecord.ID(recordName: "b"))
        #expect(await codeOf { try await database.save(child) } != nil)
    }

    @Test func recordCannotBeItsOwnParent() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let record = hut("ouroboros")
        record.setParent(record)
        #expect(await codeOf { try await database.save(record) } == .invalidArguments)
    }

    @Test func defaultZoneCannotBeShared() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let root = CKRecord(recordType: "Hut")
        let share = CKShare(rootRecord: root)
        let results = try await database.modifyRecords(saving: [root, share], deleting: [])
        #expect(
            (results.saveResults[share.recordID]?.failure as? CKError)?.code == .invalidArguments)
        let zoneWide = CKShare(recordZoneID: .default)
        #expect(await codeOf { try await database.save(zoneWide) } == .invalidArguments)
    }

    @Test func shareOutsideRootZoneIsRefused() async throws {
        let trip = try await Trip()
        let share = CKShare(
            rootRecord: trip.trail, shareID: CKRecord.ID(recordName: "elsewhere"))
        let results = try await trip.ida.privateCloudDatabase.modifyRecords(
            saving: [trip.trail, share], deleting: [])
        #expect(results.saveResults[share.recordID]?.failure is CKError)
    }

    @Test func ownerCannotBeRemovedFromShare() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        share.removeParticipant(share.owner)
        #expect(share.participants.map(\.role) == [.owner, .privateUser])
    }

    @Test func removingPublicShareParticipantIsRefused() async throws {
        let trip = try await Trip()
        let share = try await trip.share { $0.publicPermission = .readOnly }
        try await trip.join(share, trip.bo)
        let database = trip.ida.privateCloudDatabase
        let now = try #require(try await database.record(for: share.recordID) as? CKShare)
        now.removeParticipant(try #require(now.participants.last))
        #expect(now.participants.map(\.role) == [.owner])
        #expect(await codeOf { try await database.save(now) } == .invalidArguments)
    }

    @Test func missingAssetFileFailsSave() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let record = hut("photo")
        record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "/there/is/no/photo"))
        #expect(await codeOf { try await database.save(record) } == .assetFileNotFound)
    }

    @Test func serviceRefusesEmptyContainerIdentifier() async throws {
        let container = try await TestCloud().container("", user: "ida", device: "phone")
        let failure = await codeOf { _ = try await container.userRecordID() }
        #expect(failure == .invalidArguments)
    }

    @Test func queryWithoutTypeOrSortKeyIsRefused() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let nothing = CKQuery(recordType: "", predicate: NSPredicate(value: true))
        let untyped = await codeOf {
            _ = try await database.records(matching: nothing, inZoneWith: trips)
        }
        #expect(untyped == .unknownItem)
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        query.sortDescriptors = [
            CKLocationSortDescriptor(
                key: "", relativeLocation: CLLocation(latitude: 47, longitude: 11))
        ]
        #expect(
            await codeOf { _ = try await database.records(matching: query, inZoneWith: trips) }
                == .invalidArguments)
    }

    @Test func savingAndDeletingSameRecordIsRefused() async throws {
        let trip = try await Trip()
        let failure = await codeOf {
            let results = try await trip.ida.privateCloudDatabase.modifyRecords(
                saving: [trip.trail], deleting: [trip.trail.recordID])
            _ = try results.saveResults[trip.trail.recordID]?.get()
        }
        #expect(failure == .invalidArguments)
    }
}
