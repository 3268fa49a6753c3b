import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

@Suite struct ModifyRecordsTests {
    private func sent(_ transport: ScriptedTransport) throws -> RecordsModify.Request {
        try #require(transport.requests(RecordsModify.Request.self).first)
    }

    @Test func callbacksComeInDocumentedOrder() async {
        let log = Log()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [hut("a"), hut("b")], recordIDsToDelete: [hut("c").recordID])
        operation.perRecordProgressBlock = { record, part in
            log.add("progress \(record.recordID.recordName) \(part)")
        }
        operation.perRecordSaveBlock = { recordID, result in
            log.add("saved \(recordID.recordName) \((try? result.get())?.recordChangeTag ?? "-")")
        }
        operation.perRecordDeleteBlock = { recordID, _ in log.add("deleted \(recordID.recordName)")
        }
        operation.modifyRecordsResultBlock = { _ in log.add("result") }
        operation.completionBlock = { log.add("completion") }
        await run(operation, on: database { request, _ in accept(request) })
        #expect(
            log.all == [
                "progress a 1.0", "saved a saved", "progress b 1.0", "saved b saved", "deleted c",
                "result", "completion",
            ])
    }

    @Test func savedRecordGetsServerFields() async throws {
        let record = hut("a")
        record["name"] = "x"
        record["at"] = Date(timeIntervalSince1970: 1.000_4)
        let saved = try await database { request, _ in accept(request) }.save(record)
        #expect(saved === record)
        #expect(record.recordChangeTag == "saved" && record.changedKeys().isEmpty)
        #expect(record["name"] as? String == "x")
        #expect(record["at"] as? Date == Date(timeIntervalSince1970: 1.000_4))
        #expect(record.creatorUserRecordID?.recordName == "_ida")
        #expect(record.modificationDate != nil)
    }

    @Test func editDuringSaveStaysChanged() async throws {
        let record = hut("a")
        record["name"] = "first"
        record["beds"] = 1
        let database = database { request, _ in
            record["name"] = "second"
            return accept(request)
        }
        try await database.save(record)
        #expect(record["name"] as? String == "second")
        #expect(record.changedKeys() == ["name"])
    }

    @Test func savePolicyDecidesOperationKindAndFields() async throws {
        let transport = ScriptedTransport { request, _ in accept(request) }
        let database = container(transport).privateCloudDatabase
        let record = hut("a")
        record["name"] = "x"
        record["beds"] = 1
        try await database.save(record)
        record["beds"] = nil
        for policy in [
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys,
            .allKeys,
        ] {
            let copy = try #require(record.copy() as? CKRecord)
            _ = try await database.modifyRecords(saving: [copy], deleting: [], savePolicy: policy)
        }
        let operations = transport.requests(RecordsModify.Request.self).flatMap(\.operations)
        #expect(operations.map(\.kind) == [.create, .update, .forceUpdate, .forceUpdate])
        #expect(operations.map(\.record.recordChangeTag) == [nil, "saved", nil, nil])
        let names = try operations.map { try $0.record.fields.values().map(\.name) }
        #expect(names == [["beds", "name"], ["beds"], ["beds"], ["beds", "name"]])
        #expect(try operations[1].record.fields.values().first?.value == nil)
    }

    @Test func recordsOfSeveralZonesShareOneRequest() async throws {
        let transport = ScriptedTransport { request, _ in accept(request) }
        _ = try await container(transport).privateCloudDatabase.modifyRecords(
            saving: [hut("a"), CKRecord(recordType: "Hut")], deleting: [hut("b").recordID])
        let request = try sent(transport)
        #expect(transport.requests.count == 1)
        #expect(
            request.operations.map(\.record.zoneID?.zoneName) == ["Trips", "_defaultZone", "Trips"])
        #expect(request.isAtomic && request.operationID != nil)
    }

    @Test func conflictReturnsServerClientAndAncestorRecords() async throws {
        let record = hut("a")
        record["name"] = "old"
        let first = database { request, _ in accept(request) }
        try await first.save(record)
        record["name"] = "mine"
        let stale = ServiceError(.conflict, "client oplock error updating record")
        let theirs = RecordDictionary(
            recordName: "a", recordType: "Hut", recordChangeTag: "t9",
            fields: .values([Field(name: "name", value: .string("theirs"))]))
        let second = database { _, _ in
            RecordsModify.Answer(records: [
                .failure(RecordFailure(recordName: "a", error: stale, serverRecord: theirs))
            ])
        }
        let error = await #expect(throws: CKError.self) { try await second.save(record) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.serverRecord?["name"] as? String == "theirs")
        #expect(error?.serverRecord?.recordChangeTag == "t9")
        #expect(error?.serverRecord?.recordID == record.recordID)
        #expect(error?.clientRecord === record)
        #expect(error?.ancestorRecord?["name"] as? String == "old")
        #expect(record.changedKeys() == ["name"])
    }

    @Test(
        "A conflict's ancestor has the former parent if the service sends no ancestor",
        arguments: [nil, "new"] as [String?])
    func ancestorHasFormerParent(_ parent: String?) async throws {
        let record = hut("a")
        record.setParent(hut("old").recordID)
        let first = database { request, _ in accept(request) }
        try await first.save(record)
        record.setParent(parent.map { hut($0).recordID })
        let stale = ServiceError(.conflict, "client oplock error updating record")
        let theirs = RecordDictionary(
            recordName: "a", recordType: "Hut", recordChangeTag: "t9",
            parentRecordName: .some("old"))
        let second = database { _, _ in
            RecordsModify.Answer(records: [
                .failure(RecordFailure(recordName: "a", error: stale, serverRecord: theirs))
            ])
        }
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: record, requiringSecureCoding: true)
        let archived = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive))
        for client in [record, archived] {
            #expect(try client.edit().original?.parentRecordName == "old")
            let error = await #expect(throws: CKError.self) { try await second.save(client) }
            #expect(error?.ancestorRecord?.parent?.recordID.recordName == "old")
            let merged = try #require(error?.conflicts.first).merged()
            #expect(merged.parent?.recordID.recordName == parent)
        }
    }

    @Test func conflictWithoutServerRecordLooksItUp() async throws {
        let transport = ScriptedTransport { request, _ in
            if request is RecordsModify.Request {
                return RecordsModify.Answer(records: [refused("a", ServiceError(.exists, "there"))])
            }
            return RecordsLookup.Answer(records: [served("a", tag: "t9")])
        }
        let database = container(transport).privateCloudDatabase
        let error = await #expect(throws: CKError.self) { try await database.save(hut("a")) }
        #expect(error?.serverRecord?.recordChangeTag == "t9")
        #expect(error?.ancestorRecord == nil)
    }

    @Test func atomicFailureKeepsErrorOfFailedRecord() async throws {
        let log = Log()
        let results = [
            refused("a", ServiceError(.atomicError, "Atomic failure")),
            refused("b", ServiceError(.quotaExceeded, "full")),
        ]
        let database = database { _, _ in
            throw ServiceFailure(ServiceError(.atomicError, "Atomic failure"), records: results)
        }
        let outcome = try await database.modifyRecords(
            saving: [hut("a"), hut("b")], deleting: [])
        for (recordID, result) in outcome.saveResults {
            if case .failure(let error as CKError) = result {
                log.add("\(recordID.recordName) \(error.code)")
            }
        }
        #expect(log.all.sorted() == ["a batchRequestFailed", "b quotaExceeded"])
    }

    @Test func unencodableRecordFailsOnlyItsZone() async throws {
        let transport = ScriptedTransport { request, _ in accept(request) }
        let bad = hut("bad")
        bad["mixed"] = NSArray(array: ["a" as NSString, NSNumber(value: 1)])
        let other = CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: "other"))
        let outcome = try await container(transport).privateCloudDatabase.modifyRecords(
            saving: [hut("a"), bad, other], deleting: [])
        let codes = outcome.saveResults.mapValues { result -> CKError.Code? in
            if case .failure(let error as CKError) = result { error.code } else { nil }
        }
        #expect(codes[hut("a").recordID] == .batchRequestFailed)
        #expect(codes[bad.recordID] == .invalidArguments)
        #expect(codes[other.recordID] == .some(nil))
        #expect(try sent(transport).operations.count == 1)
    }

    @Test func deletingMissingRecordSucceeds() async throws {
        let database = database { _, _ in
            RecordsModify.Answer(records: [refused("a", ServiceError(.notFound, "none"))])
        }
        #expect(try await database.deleteRecord(withID: hut("a").recordID) == hut("a").recordID)
    }

    @Test func incompleteAnswerIsInternalError() async {
        let database = database { _, _ in RecordsModify.Answer(records: []) }
        await #expect(throws: CKError(.internalError)) { try await database.save(hut("a")) }
    }
}
