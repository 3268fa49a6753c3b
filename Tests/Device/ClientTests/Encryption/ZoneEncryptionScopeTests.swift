import Foundation
import StratusClient
import StratusTesting
import Testing

/// Zones whose encrypted values have one key, and which can only be shared as a whole.
@Suite struct ZoneEncryptionScopeTests {
    private func vault(_ scope: CKRecordZone.EncryptionScope) -> CKRecordZone {
        let zone = CKRecordZone(zoneName: "Vault")
        zone.encryptionScope = scope
        return zone
    }

    @Test func zoneEncryptionScopeDefaultsToPerRecord() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        #expect(CKRecordZone(zoneName: "Vault").encryptionScope == .perRecord)
        #expect(CKRecordZone.EncryptionScope.perRecord.rawValue == 0)
        #expect(CKRecordZone.EncryptionScope.perZone.rawValue == 1)
        let saved = try await database.save(vault(.perZone))
        #expect(saved.encryptionScope == .perZone)
        #expect(saved.capabilities == [.fetchChanges, .atomic, .zoneWideSharing])
        let usual = try await database.recordZone(for: trips)
        #expect(usual.encryptionScope == .perRecord && usual.capabilities.contains(.sharing))
        let all = try await database.allRecordZones()
        #expect(all.filter { $0.encryptionScope == .perZone }.map(\.zoneID.zoneName) == ["Vault"])
    }

    @Test func encryptionScopeCannotBeChanged() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let saved = try await database.save(vault(.perZone))
        _ = try await database.save(saved)
        saved.encryptionScope = .perRecord
        for changed in [saved, CKRecordZone(zoneName: "Vault")] {
            #expect(await codeOf { _ = try await database.save(changed) } == .serverRejectedRequest)
        }
        let usual = try await database.recordZone(for: trips)
        usual.encryptionScope = .perZone
        #expect(await codeOf { _ = try await database.save(usual) } == .serverRejectedRequest)
        #expect(try await database.recordZone(for: saved.zoneID).encryptionScope == .perZone)
    }

    @Test func perZoneScopeAllowsZoneWideShareOnly() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let zone = try await database.save(vault(.perZone))
        let root = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
        root.encryptedValues["diary"] = "We met a marmot."
        let hierarchy = CKShare(rootRecord: root)
        let results = try await database.modifyRecords(
            saving: [root, hierarchy], deleting: [], atomically: false)
        let failure = results.saveResults[hierarchy.recordID]?.failure as? CKError
        #expect(failure?.code == .serverRejectedRequest)

        let share = CKShare(recordZoneID: zone.zoneID)
        share.addParticipant(
            try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org"))
        try await database.save(share)
        try await trip.join(share, trip.bo)
        let seen = try #require(try await trip.bo.sharedCloudDatabase.allRecordZones().first)
        #expect(seen.encryptionScope == .perZone && !seen.capabilities.contains(.sharing))
        let id = CKRecord.ID(recordName: "root", zoneID: seen.zoneID)
        let read = try await trip.bo.sharedCloudDatabase.record(for: id)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }

    @Test func zoneCopyAndArchiveKeepEncryptionScope() throws {
        let zone = vault(.perZone)
        let copy = try #require(zone.copy() as? CKRecordZone)
        copy.encryptionScope = .perRecord
        #expect(zone.encryptionScope == .perZone)
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: zone, requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecordZone.self, from: data)
        #expect(read?.encryptionScope == .perZone)
    }
}
