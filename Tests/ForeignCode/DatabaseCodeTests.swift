import CloudKit
import Foundation
import StratusTesting
import Testing

/// A protocol that libraries declare to replace the database by a mock, with completion handlers.
private protocol DatabaseWithHandlers: AnyObject {
    func add(_ operation: CKDatabaseOperation)
    func save(
        _ record: CKRecord,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void)
    func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void)
    func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void)
    func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void)
}

extension CKDatabase: DatabaseWithHandlers {}

/// A mock that stores what it gets and answers from a dictionary.
private final class MockDatabase: DatabaseWithHandlers {
    var records: [CKRecord.ID: CKRecord] = [:]
    var operations: [CKDatabaseOperation] = []

    func add(_ operation: CKDatabaseOperation) { operations.append(operation) }

    func save(
        _ record: CKRecord,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        records[record.recordID] = record
        completionHandler(record, nil)
    }

    func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        let record = records[recordID]
        completionHandler(record, record == nil ? CKError(.unknownItem) : nil)
    }

    func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        records[recordID] = nil
        completionHandler(recordID, nil)
    }

    func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        completionHandler(zone, nil)
    }
}

/// What existing apps do with databases and operations.
@Suite struct DatabaseCodeTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)

    private func database() async throws -> CKDatabase {
        let container = try await TestCloud().container(
            "iCloud.org.example.Notes", user: "ida", device: "phone")
        _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        return container.privateCloudDatabase
    }

    private func note(_ name: String) -> CKRecord {
        let record = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["title"] = "Milk \(name)"
        return record
    }

    /// One function that gets the database or its mock.
    private func isFound(
        _ id: CKRecord.ID, in database: any DatabaseWithHandlers
    ) async -> CKError.Code? {
        await withCheckedContinuation { continuation in
            database.fetch(withRecordID: id) { record, error in
                continuation.resume(
                    returning: record == nil ? (error as? CKError)?.code : nil)
            }
        }
    }

    @Test func databaseAndMockAreInterchangeable() async throws {
        let mock = MockDatabase()
        for database in [try await database(), mock] as [any DatabaseWithHandlers] {
            let record = note("a")
            #expect(await isFound(record.recordID, in: database) == .unknownItem)
            let saved = await withCheckedContinuation { continuation in
                database.save(record) { record, _ in continuation.resume(returning: record) }
            }
            #expect(saved?.recordID == record.recordID)
            #expect(await isFound(record.recordID, in: database) == nil)
        }
        mock.add(CKFetchRecordsOperation(recordIDs: [note("a").recordID]))
        #expect((mock.operations.first as? CKFetchRecordsOperation)?.recordIDs?.count == 1)
    }

    @Test func operationsReportThroughTheirBlocks() async throws {
        let database = try await database()
        let records = ["a", "b"].map(note)
        let save = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        save.savePolicy = .changedKeys
        save.isAtomic = true
        save.qualityOfService = .userInitiated
        let saved = Seen<String>()
        save.perRecordSaveBlock = { id, result in
            if case .success(let record) = result, record.recordChangeTag != nil {
                saved.add(id.recordName)
            }
        }
        try await withCheckedThrowingContinuation { continuation in
            save.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(save)
        }
        #expect(saved.sorted == ["a", "b"])

        let changes = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [
                zoneID: .init(previousServerChangeToken: nil, resultsLimit: nil, desiredKeys: nil)
            ])
        changes.fetchAllChanges = true
        let (fetched, tokens) = (Seen<String>(), Seen<CKServerChangeToken>())
        changes.recordWasChangedBlock = { id, result in
            if case .success(let record) = result {
                fetched.add("\(id.recordName) \(record["title"] as? String ?? "")")
            }
        }
        changes.recordZoneFetchResultBlock = { _, result in
            if case .success(let (token, data, moreComing)) = result, data == nil, !moreComing {
                tokens.add(token)
            }
        }
        try await withCheckedThrowingContinuation { continuation in
            changes.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            database.add(changes)
        }
        #expect(fetched.sorted == ["a Milk a", "b Milk b"])

        // Stored between launches, and valid at the next one.
        let token = try #require(tokens.all.first)
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: token, requiringSecureCoding: true)
        let kept = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKServerChangeToken.self, from: data)
        #expect(kept == token)
        let next = try await database.recordZoneChanges(inZoneWith: zoneID, since: kept)
        #expect(next.modificationResultsByID.isEmpty && next.deletions.isEmpty)
    }

    @Test func queriesContinueWithTheirCursor() async throws {
        let database = try await database()
        _ = try await database.modifyRecords(
            saving: (0..<3).map { note("\($0)") }, deleting: [])
        let query = CKQuery(
            recordType: "Note", predicate: NSPredicate(format: "title BEGINSWITH %@", "Milk"))
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
        var (results, cursor) = try await database.records(
            matching: query, inZoneWith: zoneID, desiredKeys: ["title"], resultsLimit: 2)
        var titles = try results.map { try $0.1.get()["title"] as? String }
        while let next = cursor {
            (results, cursor) = try await database.records(continuingMatchFrom: next)
            titles += try results.map { try $0.1.get()["title"] as? String }
        }
        #expect(titles == ["Milk 2", "Milk 1", "Milk 0"])
    }

    @Test func conflictsAreMergedOntoTheServersRecord() async throws {
        let database = try await database()
        let first = try await database.save(note("a"))
        let stale = try #require(first.copy() as? CKRecord)
        first["title"] = "Oat"
        _ = try await database.save(first)
        stale["title"] = "Soy"
        do {
            _ = try await database.save(stale)
            Issue.record("the stale save went through")
        } catch let error as CKError where error.code == .serverRecordChanged {
            let server = try #require(error.serverRecord)
            #expect(server["title"] as? String == "Oat")
            #expect(error.ancestorRecord?["title"] as? String == "Milk a")
            #expect(error.clientRecord?["title"] as? String == "Soy")
            for key in stale.changedKeys() { server[key] = stale[key] }
            #expect(try await database.save(server)["title"] as? String == "Soy")
        }
    }

    @Test func dependentOperationsRunInOrder() async throws {
        let database = try await database()
        let record = note("a")
        let save = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.addDependency(save)
        save.database = database
        fetch.database = database
        let found = Seen<String>()
        fetch.perRecordResultBlock = { id, result in
            if case .success = result { found.add(id.recordName) }
        }
        let queue = OperationQueue()
        try await withCheckedThrowingContinuation { continuation in
            fetch.fetchRecordsResultBlock = { continuation.resume(with: $0) }
            queue.addOperations([fetch, save], waitUntilFinished: false)
        }
        #expect(found.all == ["a"])
    }
}

/// What blocks recorded, from any thread.
private final class Seen<Element>: @unchecked Sendable {
    // `@unchecked`: the lock is around every use of the array.
    private let lock = NSLock()
    private var elements: [Element] = []

    func add(_ element: Element) { lock.withLock { elements.append(element) } }
    var all: [Element] { lock.withLock { elements } }
}

extension Seen where Element: Comparable {
    fileprivate var sorted: [Element] { all.sorted() }
}
