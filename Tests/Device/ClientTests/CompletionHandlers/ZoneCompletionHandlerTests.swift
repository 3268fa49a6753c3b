import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers that fetch, save and delete zones, and fetch their changes.
@Suite struct ZoneCompletionHandlerTests {
    private let more = CKRecordZone.ID(zoneName: "More")

    @Test func zoneHandlersGetZoneOrItsID() async throws {
        let trip = try await Trip()
        let (database, id) = (trip.ida.privateCloudDatabase, more)
        let (saved, saveError) = await handled {
            database.save(CKRecordZone(zoneID: id), completionHandler: $0)
        }
        #expect(saved?.zoneID == id && saveError == nil)
        let (fetched, fetchError) = await handled {
            database.fetch(withRecordZoneID: id, completionHandler: $0)
        }
        #expect(fetched?.zoneID == id && fetchError == nil)
        let (all, listError) = await handled { database.fetchAllRecordZones(completionHandler: $0) }
        #expect(all?.map(\.zoneID).contains(id) == true && listError == nil)
        let (deleted, deleteError) = await handled {
            database.delete(withRecordZoneID: id, completionHandler: $0)
        }
        #expect(deleted == id && deleteError == nil)
        let (gone, goneError) = await handled {
            database.fetch(withRecordZoneID: id, completionHandler: $0)
        }
        #expect(gone == nil && (goneError as? CKError)?.code == .zoneNotFound)
    }

    @Test func zoneListHandlersGetResultForEachZone() async throws {
        let trip = try await Trip()
        let (database, id) = (trip.ida.privateCloudDatabase, more)
        let changes = try await handledResult {
            database.modifyRecordZones(
                saving: [CKRecordZone(zoneID: id)], deleting: [trips], completionHandler: $0)
        }
        #expect(try changes.saveResults[id]?.get().zoneID == id)
        #expect(Array(changes.deleteResults.keys) == [trips])
        #expect(changes.deleteResults[trips]?.failure == nil)
        let found = try await handledResult {
            database.fetch(withRecordZoneIDs: [id, trips], completionHandler: $0)
        }
        #expect(try found[id]?.get().zoneID == id)
        #expect((found[trips]?.failure as? CKError)?.code == .zoneNotFound)
    }

    @Test func zoneListHandlerGetsErrorInPublicDatabase() async throws {
        let trip = try await Trip()
        let (database, id) = (trip.ida.publicCloudDatabase, more)
        let code = await codeOf {
            _ = try await handledResult {
                database.modifyRecordZones(
                    saving: [CKRecordZone(zoneID: id)], deleting: [], completionHandler: $0)
            }
        }
        #expect(code == .badDatabase)
    }

    @Test func changesHandlersGetPageAndToken() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let zones = try await handledResult {
            database.fetchDatabaseChanges(since: nil, completionHandler: $0)
        }
        #expect(zones.modifications.map(\.zoneID).contains(trips) && !zones.moreComing)
        let start = try await handledResult {
            database.fetchRecordZoneChanges(inZoneWith: trips, since: nil, completionHandler: $0)
        }
        #expect(start.modificationResultsByID.count == 3 && start.deletions.isEmpty)
        let removed = hut("diary").recordID
        try await database.deleteRecord(withID: removed)
        let next = try await handledResult {
            database.fetchRecordZoneChanges(
                inZoneWith: trips, since: start.changeToken, completionHandler: $0)
        }
        #expect(next.modificationResultsByID.isEmpty)
        #expect(next.deletions.map(\.recordID) == [removed])
    }
}
