import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// A device never sends a field in the clear that it encrypted once, whichever code builds the record.
@Suite struct PlainValueTests {
    private let cloud = TestCloud()

    private func device(
        _ keyStore: any CloudKeyStore
    ) async throws -> (database: CKDatabase, transport: TappedTransport, sent: Kept<Field>) {
        let link = try await cloud.connect(user: "ida", device: "phone")
        let transport = TappedTransport(link.transport)
        let sent = Kept<Field>()
        transport.tap {
            $0.request = { request in
                guard let request = request as? RecordsModify.Request else { return }
                for operation in request.operations where operation.record.recordType == "Hut" {
                    for field in try operation.record.fields.values() { sent.add(field) }
                }
            }
        }
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: "phone", keyStore: keyStore)
        let container = CKContainer(identifier: Trip.identifier, connection: connection)
        return (container.privateCloudDatabase, transport, sent)
    }

    private func diary(_ name: String) -> CKRecord {
        let record = hut(name)
        record.encryptedValues["diary"] = "We met a marmot."
        return record
    }

    /// Expects that a record with the diary in the clear is refused, and another one is saved.
    private func expectRefusal(of database: CKDatabase, _ sent: Kept<Field>) async throws {
        let (plain, other) = (hut("plain"), hut("other"))
        plain["diary"] = "Grossglockner"
        other["name"] = "Gipfel"
        let outcome = try await database.modifyRecords(
            saving: [plain, other], deleting: [], savePolicy: .allKeys, atomically: false)
        let error = outcome.saveResults[plain.recordID]?.failure as? CKError
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("encryptedValues") == true)
        #expect(error?.userInfo[CKError.recordTypeKey] as? String == "Hut")
        #expect(error?.userInfo[CKError.fieldNameKey] as? String == "diary")
        #expect(outcome.saveResults[other.recordID]?.success != nil)
        #expect(!sent.all.contains { $0.value == .string("Grossglockner") })
        // An atomic batch is not sent at all.
        let atomic = try await database.modifyRecords(saving: [plain, other], deleting: [])
        #expect(
            (atomic.saveResults[other.recordID]?.failure as? CKError)?.code == .batchRequestFailed)
        #expect(!sent.all.contains { $0.value == .string("Grossglockner") })
    }

    @Test func plainValueOfAnEncryptedFieldIsRefused() async throws {
        let phone = try await device(MemoryKeyStore())
        try await phone.database.save(CKRecordZone(zoneID: trips))
        try await phone.database.save(diary("a"))
        try await expectRefusal(of: phone.database, phone.sent)
        // A field of the same name in another record type may be plain.
        let trail = CKRecord(
            recordType: "Trail", recordID: CKRecord.ID(recordName: "t", zoneID: trips))
        trail["diary"] = "Public."
        try await phone.database.save(trail)
    }

    @Test func plainValueBesideEncryptedOneInABatchIsRefused() async throws {
        let phone = try await device(MemoryKeyStore())
        try await phone.database.save(CKRecordZone(zoneID: trips))
        let plain = hut("plain")
        plain["diary"] = "Grossglockner"
        let outcome = try await phone.database.modifyRecords(
            saving: [plain, diary("a")], deleting: [], atomically: false)
        #expect(
            (outcome.saveResults[plain.recordID]?.failure as? CKError)?.code == .invalidArguments)
        #expect(!phone.sent.all.contains { $0.value == .string("Grossglockner") })
    }

    @Test func encryptedFieldsAreRememberedOverRestart() async throws {
        let scratch = try Scratch()
        let folder = scratch.folder.appendingPathComponent("keys")
        let first = try await device(FileKeyStore(folder: folder))
        try await first.database.save(CKRecordZone(zoneID: trips))
        try await first.database.save(diary("a"))
        let second = try await device(FileKeyStore(folder: folder))
        try await expectRefusal(of: second.database, second.sent)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            #expect(try mode(of: folder.appendingPathComponent(name)) == 0o600, "\(name)")
        }
    }

    @Test func assetInPlaceOfEncryptedFieldIsNotUploaded() async throws {
        let scratch = try Scratch()
        let phone = try await device(MemoryKeyStore())
        try await phone.database.save(CKRecordZone(zoneID: trips))
        try await phone.database.save(diary("a"))
        let plain = hut("plain")
        plain["diary"] = CKAsset(fileURL: try scratch.file("diary", bytes: 10))
        await #expect(throws: CKError(.invalidArguments)) { try await phone.database.save(plain) }
        #expect(phone.transport.counts.uploads == 0)
    }

    /// Two processes of a device add encrypted fields at the same time: no field is lost.
    @Test func encryptedFieldsOfTwoProcessesAreMerged() throws {
        let scratch = try Scratch()
        let (one, two) = (
            FileKeyStore(folder: scratch.folder), FileKeyStore(folder: scratch.folder)
        )
        let container = "iCloud.org.example.Trails"
        func field(_ key: String) -> EncryptedField { EncryptedField(recordType: "Hut", key: key) }
        #expect(try one.encryptedFields(of: container, in: .development).isEmpty)
        try one.addEncryptedFields([field("a")], of: container, in: .development)
        try two.addEncryptedFields([field("b")], of: container, in: .development)
        try one.addEncryptedFields([field("c")], of: container, in: .development)
        #expect(
            try two.encryptedFields(of: container, in: .development)
                == [field("a"), field("b"), field("c")])
        #expect(try two.encryptedFields(of: container, in: .production).isEmpty)
    }
}

/// The permissions of a file or folder.
func mode(of url: URL) throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue
}
