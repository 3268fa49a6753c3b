import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers that fetch, save, delete and find records.
@Suite struct RecordCompletionHandlerTests {
    private let all = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))

    @Test func recordHandlersGetRecordOrItsID() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let id = hut("diary").recordID
        let (fetched, fetchError) = await handled {
            database.fetch(withRecordID: id, completionHandler: $0)
        }
        let record = try #require(fetched)
        #expect(record.recordID == id && fetchError == nil)
        record["beds"] = 3
        let (saved, saveError) = await handled { database.save(record, completionHandler: $0) }
        #expect(saved === record && saveError == nil)
        #expect(try await database.record(for: id)["beds"] as? Int == 3)
        let (deleted, deleteError) = await handled {
            database.delete(withRecordID: id, completionHandler: $0)
        }
        #expect(deleted == id && deleteError == nil)
    }

    @Test func recordHandlerGetsErrorOfMissingRecord() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let (record, error) = await handled {
            database.fetch(withRecordID: hut("none").recordID, completionHandler: $0)
        }
        #expect(record == nil && (error as? CKError)?.code == .unknownItem)
    }

    @available(*, deprecated)
    @Test func deprecatedQueryHandlerGetsFirstPage() async throws {
        let trip = try await Trip()
        let (database, query) = (trip.ida.privateCloudDatabase, all)
        let (records, error) = await handled {
            database.perform(query, inZoneWith: trips, completionHandler: $0)
        }
        #expect(records?.map(\.recordID.recordName).sorted() == ["diary", "hut", "trail"])
        #expect(error == nil)
    }

    @Test func recordListHandlersGetResultForEachRecord() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let (below, none) = (trip.hutBelow.recordID, hut("none").recordID)
        let found = try await handledResult {
            database.fetch(
                withRecordIDs: [below, none], desiredKeys: [], completionHandler: $0)
        }
        let record = try #require(try found[below]?.get())
        #expect(record.recordID == below && record.allKeys().isEmpty)
        #expect((found[none]?.failure as? CKError)?.code == .unknownItem)
        let (added, removed) = (hut("new"), hut("diary").recordID)
        let changes = try await handledResult {
            database.modifyRecords(saving: [added], deleting: [removed], completionHandler: $0)
        }
        #expect(try changes.saveResults[added.recordID]?.get().recordChangeTag != nil)
        #expect(Array(changes.deleteResults.keys) == [removed])
        #expect(changes.deleteResults[removed]?.failure == nil)
        #expect(await codeOf { _ = try await database.record(for: removed) } == .unknownItem)
    }

    @Test func queryHandlersGetEachPage() async throws {
        let trip = try await Trip()
        let (database, query) = (trip.ida.privateCloudDatabase, all)
        let first = try await handledResult {
            database.fetch(
                withQuery: query, inZoneWith: trips, resultsLimit: 2, completionHandler: $0)
        }
        #expect(first.matchResults.count == 2)
        let cursor = try #require(first.queryCursor)
        let last = try await handledResult {
            database.fetch(withCursor: cursor, completionHandler: $0)
        }
        #expect(last.queryCursor == nil)
        let names = (first.matchResults + last.matchResults).map(\.0.recordName)
        #expect(names.sorted() == ["diary", "hut", "trail"])
    }
}
