import Foundation
import StratusClient
import StratusStorage
import StratusTesting
import Testing

/// Participants of a share have names there.
@Suite struct ParticipantNameTests {
    @Test func participantsHaveNameComponents() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let cloud = TestCloud(storage: storage)
        func person(_ name: String) async throws -> CKContainer {
            let container = try await cloud.container(
                Trip.identifier, user: "\(name.lowercased())@example.org", device: "\(name)'s phone"
            )
            let id = try await container.userRecordID()
            var user = try #require(try await storage.directory.user(recordName: id.recordName))
            user.givenName = name
            user.familyName = "Holm"
            _ = try await storage.directory.update(user)
            return container
        }
        let ida = try await person("Ida")
        let bo = try await person("Bo")
        let database = ida.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        let trail = hut("trail")
        let share = CKShare(rootRecord: trail)
        share.publicPermission = .readWrite
        let saved = try await database.modifyRecords(saving: [trail, share], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        #expect(share.owner.userIdentity.nameComponents?.givenName == "Ida")
        let metadata = try await bo.shareMetadata(for: try #require(share.url))
        #expect(metadata.ownerIdentity.nameComponents?.familyName == "Holm")
        let joined = try await bo.accept(metadata)
        let names = joined.participants.map { $0.userIdentity.nameComponents?.givenName }
        #expect(names == ["Ida", "Bo"])
        // Participants still do not see the owner's address.
        #expect(joined.owner.userIdentity.lookupInfo == nil)
        let owned = try #require(try await database.record(for: share.recordID) as? CKShare)
        let participant = try #require(owned.participants.last)
        #expect(participant.userIdentity.nameComponents?.givenName == "Bo")
        #expect(participant.userIdentity.lookupInfo?.emailAddress == "bo@example.org")
    }
}
