import CloudKit
import Foundation

/// The app's huts: the only place in it that knows CloudKit.
struct HutBook: Sendable {
    static let zoneID = CKRecordZone.ID(zoneName: "Huts", ownerName: CKCurrentUserDefaultName)

    let container: CKContainer
    /// Waits before a request is repeated; tests pass their own.
    var sleep: @Sendable (_ seconds: Double) async throws -> Void = {
        try await Task.sleep(for: .seconds($0))
    }

    func open() async throws {
        _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
    }

    func makeHut(_ name: String, beds: Int) -> CKRecord {
        let id = CKRecord.ID(recordName: UUID().uuidString, zoneID: Self.zoneID)
        let hut = CKRecord(recordType: "Hut", recordID: id)
        hut["name"] = name
        hut["beds"] = beds
        return hut
    }

    /// Saves a new or edited hut.
    ///
    /// Other devices' changes are kept, except in fields that were edited here, including encrypted
    /// ones. Waits if the service asks for it.
    @discardableResult
    func save(_ hut: CKRecord) async throws -> CKRecord {
        var hut = hut
        while true {
            do {
                return try await database(of: hut.recordID.zoneID).save(hut)
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let current = error.serverRecord else { throw error }
                for key in hut.changedKeys() { current[key] = hut[key] }
                hut = current
            } catch let error as CKError {
                guard let seconds = error.retryAfterSeconds else { throw error }
                try await sleep(seconds)
            }
        }
    }

    /// The user's own huts, and those that others share.
    func huts() async throws -> [CKRecord] {
        let shared = try await container.sharedCloudDatabase.allRecordZones()
        var huts: [CKRecord] = []
        for zoneID in [Self.zoneID] + shared.map(\.zoneID) {
            var token: CKServerChangeToken?
            var moreComing = true
            while moreComing {
                let page = try await database(of: zoneID)
                    .recordZoneChanges(inZoneWith: zoneID, since: token)
                for result in page.modificationResultsByID.values {
                    let record = try result.get().record
                    if record.recordType == "Hut" { huts.append(record) }
                }
                (token, moreComing) = (page.changeToken, page.moreComing)
            }
        }
        return huts
    }

    /// Invites a user to a hut.
    ///
    /// - Returns: the link to send.
    func share(_ hut: CKRecord, with emailAddress: String) async throws -> URL? {
        let share = CKShare(rootRecord: hut)
        let guest = try await container.shareParticipant(forEmailAddress: emailAddress)
        guest.permission = .readWrite
        share.addParticipant(guest)
        let saved = try await container.privateCloudDatabase
            .modifyRecords(saving: [hut, share], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return share.url
    }

    /// Follows a link.
    func join(_ link: URL) async throws {
        _ = try await container.accept(try await container.shareMetadata(for: link))
    }

    private func database(of zoneID: CKRecordZone.ID) -> CKDatabase {
        zoneID.ownerName == CKCurrentUserDefaultName
            ? container.privateCloudDatabase : container.sharedCloudDatabase
    }
}
