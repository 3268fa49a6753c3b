import Foundation
import StratusTesting
import Testing

@testable import StratusClient

/// Code that copies "all fields" of a record, as sync libraries do: encrypted ones are among them.
@Suite struct CopiedFieldTests {
    private let cloud = TestCloud()

    private func database(
        device: String, keyStore: (any CloudKeyStore)? = nil
    ) async throws -> CKDatabase {
        let connection = try await cloud.connect(user: "ida", device: device, keyStore: keyStore)
        let database = CKContainer(
            identifier: "iCloud.org.example.Trails", connection: connection
        ).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        return database
    }

    private func diary() -> CKRecord {
        let record = hut("a")
        record["name"] = "Gipfel"
        record.encryptedValues["diary"] = "We met a marmot."
        record.encryptedValues["count"] = 1
        return record
    }

    /// A conflict: the tablet changed one encrypted field, the phone another.
    private func conflict(
        _ phone: CKDatabase, _ tablet: CKDatabase
    ) async throws -> (client: CKRecord, server: CKRecord) {
        let mine = try await phone.save(diary())
        let theirs = try await tablet.record(for: mine.recordID)
        theirs.encryptedValues["count"] = 2
        try await tablet.save(theirs)
        mine.encryptedValues["diary"] = "It whistled."
        let error = await #expect(throws: CKError.self) { try await phone.save(mine) }
        return (try #require(error?.clientRecord), try #require(error?.serverRecord))
    }

    private func expectBothEdits(of server: CKRecord, on tablet: CKDatabase) async throws {
        let read = try await tablet.record(for: server.recordID)
        #expect(read.encryptedValues["diary"] == "It whistled.")
        #expect(read.encryptedValues["count"] == 2)
        #expect(read.encryptedValues.allKeys() == ["count", "diary"])
    }

    @Test func clientsEncryptedEditIsCopiedOntoServerRecord() async throws {
        let phone = try await database(device: "phone")
        let tablet = try await database(device: "tablet")
        let (client, server) = try await conflict(phone, tablet)
        #expect(client.changedKeys() == ["diary"])
        for key in client.changedKeys() { server[key] = client[key] }
        #expect(server.encryptedValues["diary"] == "It whistled.")
        try await phone.save(server)
        try await expectBothEdits(of: server, on: tablet)
    }

    @Test func serversEncryptedEditIsCopiedOntoClientRecord() async throws {
        let phone = try await database(device: "phone")
        let tablet = try await database(device: "tablet")
        let (client, server) = try await conflict(phone, tablet)
        var copied: [String] = []
        for (key, value) in server where key != "diary" {
            client[key] = value
            copied.append(key)
        }
        #expect(copied == ["count", "name"])
        let results = try await phone.modifyRecords(
            saving: [client], deleting: [], savePolicy: .allKeys)
        _ = try results.saveResults[client.recordID]?.get()
        try await expectBothEdits(of: server, on: tablet)
    }

    @Test func removedEncryptedValueIsCopiedAsRemoved() async throws {
        let phone = try await database(device: "phone")
        let record = try await phone.save(diary())
        let copy = try await phone.record(for: record.recordID)
        record["count"] = nil
        #expect(record.changedKeys() == ["count"] && record.encryptedValues["count"] == nil)
        for key in record.changedKeys() { copy[key] = record[key] }
        try await phone.save(copy)
        let read = try await phone.record(for: record.recordID)
        #expect(read.allKeys() == ["diary", "name"])
    }

    /// A value whose key this device lacks is not listed, so code that copies all fields leaves it as it is.
    @Test func unreadableValueIsNotRemovedByCopying() async throws {
        let record = try await database(device: "phone").save(diary())
        let strange = try await database(device: "browser", keyStore: MemoryKeyStore())
        let read = try await strange.record(for: record.recordID)
        #expect(read.allKeys() == ["name"] && read.map(\.0) == ["name"])
        #expect(read.encryptedValues.allKeys() == ["count", "diary"])
        let other = try #require(read.copy() as? CKRecord)
        other["name"] = "Gipfelhütte"
        for key in other.allKeys() { read[key] = other[key] }
        try await strange.save(read)
        let kept = try await database(device: "phone").record(for: record.recordID)
        #expect(kept["name"] == "Gipfelhütte" && kept["diary"] == "We met a marmot.")
    }

    @Test func encryptedFieldCopiedToNewRecordIsNotSentInTheClear() async throws {
        let phone = try await database(device: "phone")
        let record = try await phone.save(diary())
        let copy = hut("b")
        for key in record.allKeys() { copy[key] = record[key] }
        #expect(await codeOf { try await phone.save(copy) } == .invalidArguments)
    }
}
