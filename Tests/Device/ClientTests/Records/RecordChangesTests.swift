import Foundation
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// An app's changes reach the service, whenever the record was changed, archived or merged.
@Suite struct RecordChangesTests {
    typealias SavePolicy = CKModifyRecordsOperation.RecordSavePolicy

    private let cloud = TestCloud()

    private func device(_ name: String) async throws -> (CKDatabase, TappedTransport) {
        let connection = try await cloud.connect(user: "ida", device: name)
        let transport = TappedTransport(connection.transport)
        let tapped = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, keyStore: cloud.keyStore)
        let database = CKContainer(
            identifier: "iCloud.org.example.Trails", connection: tapped
        ).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        return (database, transport)
    }

    /// Saves a record and changes it while the request is in flight.
    private func save(
        _ record: CKRecord, on device: (database: CKDatabase, transport: TappedTransport),
        policy: SavePolicy = .ifServerRecordUnchanged,
        meanwhile change: @escaping @Sendable () -> Void
    ) async throws {
        device.transport.tap {
            $0.request = { if $0 is RecordsModify.Request { change() } }
        }
        let results = try await device.database.modifyRecords(
            saving: [record], deleting: [], savePolicy: policy)
        device.transport.tap { $0.request = { _ in } }
        _ = try results.saveResults[record.recordID]?.get()
    }

    private func archived(_ record: CKRecord) throws -> CKRecord {
        try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: record, requiringSecureCoding: true)))
    }

    private func withSystemFieldsOnly(_ record: CKRecord) throws -> CKRecord {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        reader.requiresSecureCoding = true
        return try #require(CKRecord(coder: reader))
    }

    // MARK: During a save

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func fieldRemovedDuringSaveIsRemovedByNextSave(_ policy: SavePolicy) async throws {
        let device = try await device("phone")
        let record = hut("a")
        record["name"] = "Gipfel"
        record["note"] = "1"
        try await save(record, on: device, policy: policy) { record["note"] = nil }
        #expect(record.allKeys() == ["name"] && record.changedKeys() == ["note"])
        try await device.0.save(record)
        #expect(record.changedKeys().isEmpty)
        let read = try await device.0.record(for: record.recordID)
        #expect(read.allKeys() == ["name"])
    }

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys])
    func savedValueIsAncestorOfEditDuringSave(_ policy: SavePolicy) async throws {
        let device = try await device("phone")
        let record = hut("a")
        record["note"] = "1"
        record["date"] = Date(timeIntervalSince1970: 1.000_4)
        try await save(record, on: device, policy: policy) { record["note"] = "2" }
        #expect(record["note"] as? String == "2" && record.changedKeys() == ["note"])
        #expect(record["date"] as? Date == Date(timeIntervalSince1970: 1.000_4))
        let other = try await device.0.record(for: record.recordID)
        other["note"] = "theirs"
        try await device.0.save(other)
        let error = await #expect(throws: CKError.self) { try await device.0.save(record) }
        #expect(error?.ancestorRecord?["note"] as? String == "1")
        record["note"] = nil
        #expect(record.changedKeys() == ["note"])
    }

    @Test func fieldSetAndRemovedDuringSaveIsUnchanged() async throws {
        let device = try await device("phone")
        let record = hut("a")
        record["name"] = "Gipfel"
        try await save(record, on: device) {
            record["note"] = "1"
            record["note"] = nil
        }
        #expect(record.changedKeys().isEmpty)
        // A removal that is repeated during the save counts once.
        record["name"] = nil
        try await save(record, on: device) {
            record["name"] = "again"
            record["name"] = nil
        }
        #expect(record.changedKeys().isEmpty && record.allKeys().isEmpty)
    }

    // MARK: Archives

    @Test func archiveKeepsParentOfNewRecord() async throws {
        let (database, _) = try await device("phone")
        try await database.save(hut("trail"))
        let child = hut("hut")
        child.setParent(hut("trail"))
        for copy in [try withSystemFieldsOnly(child), try archived(child)] {
            try await database.save(copy)
            let read = try await database.record(for: child.recordID)
            #expect(read.parent?.recordID.recordName == "trail")
            try await database.deleteRecord(withID: child.recordID)
        }
    }

    /// The app removes fields that it has not read, from a record of system fields or one that was fetched without fields.
    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys], [true, false])
    func removalInRecordThatLacksFieldsIsSaved(_ policy: SavePolicy, isFetched: Bool) async throws {
        let device = try await device("phone")
        let record = hut("a")
        for key in ["beds", "name", "note"] { record[key] = key }
        record.encryptedValues["secret"] = "2"
        try await device.0.save(record)
        let fetched = try await device.0.records(for: [record.recordID], desiredKeys: [])
        let bare = try isFetched ? fetched[record.recordID]?.get() : withSystemFieldsOnly(record)
        let copy = try archived(try #require(bare))
        copy["note"] = nil
        copy["beds"] = 4
        copy["beds"] = nil
        copy.encryptedValues["secret"] = nil
        #expect(copy.allKeys().isEmpty && copy.changedKeys() == ["beds", "note", "secret"])
        try await save(copy, on: device, policy: policy) { copy["name"] = nil }
        #expect(copy.changedKeys() == ["name"])
        let read = try await device.0.record(for: record.recordID)
        #expect(read.allKeys() == ["name"])
        try await device.0.save(copy)
        #expect(try await device.0.record(for: record.recordID).allKeys().isEmpty)
        let new = try withSystemFieldsOnly(hut("b"))
        new["note"] = nil
        #expect(new.changedKeys().isEmpty)
    }

    /// Of a large record the service does not keep the former state, so the ancestor is what the client had: it lacks the
    /// field too.
    @Test(arguments: [1, 20_000])
    func mergedConflictKeepsRemovalInRecordOfSystemFields(noteLength: Int) async throws {
        let (database, _) = try await device("phone")
        let record = hut("a")
        record["name"] = "Gipfel"
        record["note"] = String(repeating: "1", count: noteLength)
        try await database.save(record)
        let copy = try withSystemFieldsOnly(record)
        record["name"] = "Gipfelblick"
        try await database.save(record)
        copy["note"] = nil
        let error = await #expect(throws: CKError.self) { try await database.save(copy) }
        let conflict = try #require(error?.conflicts.first)
        let ancestor = try #require(conflict.ancestor)
        #expect(ancestor.allKeys() == (noteLength == 1 ? ["name", "note"] : []))
        try await database.save(conflict.merged())
        let read = try await database.record(for: record.recordID)
        #expect(read.allKeys() == ["name"])
        #expect(read["name"] as? String == "Gipfelblick")
    }

    @Test func systemFieldsKeepNewParentOfSavedRecord() async throws {
        let (database, _) = try await device("phone")
        _ = try await database.modifyRecords(saving: [hut("trail"), hut("hut")], deleting: [])
        let child = try await database.record(for: hut("hut").recordID)
        child.setParent(hut("trail"))
        try await database.save(try withSystemFieldsOnly(child))
        let read = try await database.record(for: child.recordID)
        #expect(read.parent?.recordID.recordName == "trail")
    }

    @Test func unarchivableValueIsNotSentAsRemoval() async throws {
        let (database, _) = try await device("phone")
        let record = hut("a")
        record["tags"] = ["x"]
        record["beds"] = 4
        try await database.save(record)
        record["tags"] = NSArray(array: ["x" as NSString, NSNumber(value: 1)])
        record["beds"] = Double.infinity
        record["name"] = "Gipfel"
        let copy = try archived(record)
        #expect(copy.changedKeys() == ["name"])
        #expect(copy["tags"] as? [String] == ["x"] && copy["beds"] as? Int == 4)
        try await database.save(copy)
        let read = try await database.record(for: record.recordID)
        #expect(read.allKeys() == ["beds", "name", "tags"])
    }

    // MARK: Numbers

    @Test func unstorableNumbersAreRefused() async throws {
        let (database, _) = try await device("phone")
        let record = hut("a")
        record["score"] = 1.5
        record["scores"] = [1.5]
        record["place"] = CLLocation(latitude: 47, longitude: 11)
        record.encryptedValues["secret"] = 2.5
        try await database.save(record)
        let bad: [(String, any CKRecordValue)] = [
            ("score", NSNumber(value: Double.infinity)), ("score", NSNumber(value: Double.nan)),
            ("scores", NSArray(array: [NSNumber(value: 1), NSNumber(value: -Double.infinity)])),
            ("score", NSNumber(value: UInt64.max)),
            ("score", NSNumber(value: UInt64(Int64.max) + 1)),
            ("scores", NSArray(array: [NSNumber(value: UInt64.max)])),
            ("place", CLLocation(latitude: .nan, longitude: 11)),
        ]
        for (key, value) in bad {
            let copy = try await database.record(for: record.recordID)
            copy[key] = value
            let error = await #expect(throws: CKError.self) { try await database.save(copy) }
            #expect(error?.code == .invalidArguments, "\(key) \(value)")
        }
        record.encryptedValues["secret"] = Double.infinity
        await #expect(throws: CKError(.invalidArguments)) { try await database.save(record) }
        let read = try await database.record(for: record.recordID)
        #expect(read["score"] as? Double == 1.5 && read["scores"] as? [Double] == [1.5])
        #expect(read.encryptedValues["secret"] as? Double == 2.5)
        for value in [NSNumber(value: Double.infinity), NSNumber(value: UInt64.max)] {
            let query = CKQuery(
                recordType: "Hut", predicate: NSPredicate(format: "score < %@", value))
            await #expect(throws: CKError(.invalidArguments)) {
                _ = try await database.records(matching: query, inZoneWith: trips)
            }
        }
    }

    @Test func extremeNumbersRoundTrip() async throws {
        let (database, _) = try await device("phone")
        let record = hut("a")
        record["big"] = UInt64(Int64.max)
        record["small"] = Int64.min
        record["double"] = Double.greatestFiniteMagnitude
        try await database.save(record)
        let read = try await database.record(for: record.recordID)
        #expect(read["big"] as? Int64 == .max && read["small"] as? Int64 == .min)
        #expect(read["double"] as? Double == .greatestFiniteMagnitude)
    }
}
