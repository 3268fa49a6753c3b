import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// Encrypted values: readable for the user and the participants of a share, and for no one else.
@Suite struct EncryptionTests {
    private let cloud = TestCloud()
    private static let identifier = "iCloud.org.example.Trails"

    private func container(
        user: String = "ida", device: String = "phone", keyStore: (any CloudKeyStore)? = nil,
        cloud: TestCloud? = nil
    ) async throws -> CKContainer {
        let connection = try await (cloud ?? self.cloud).connect(
            user: user, device: device, keyStore: keyStore)
        return CKContainer(identifier: Self.identifier, connection: connection)
    }

    private func database(
        device: String = "phone", keyStore: (any CloudKeyStore)? = nil
    ) async throws -> CKDatabase {
        let database = try await container(device: device, keyStore: keyStore).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        return database
    }

    private func diary(_ text: String = "We met a marmot.") -> CKRecord {
        let record = hut("a")
        record.encryptedValues["diary"] = text
        record["name"] = "Gipfel"
        return record
    }

    @Test func encryptedValuesOfEveryTypeReachOtherDevice() async throws {
        let record = diary()
        let values = record.encryptedValues
        values["count"] = 42
        values["height"] = 2_962.5
        values["at"] = Date(timeIntervalSince1970: 5)
        values["blob"] = Data([1, 2, 3])
        values["place"] = CLLocation(latitude: 47, longitude: 11)
        values["tags"] = ["x", "y"]
        #expect(record.allKeys() == (values.allKeys() + ["name"]).sorted())
        #expect(record.changedKeys() == record.allKeys())
        #expect(values.changedKeys() == values.allKeys() && !values.allKeys().contains("name"))
        try await database().save(record)
        #expect(values.changedKeys().isEmpty && values["diary"] as? String == "We met a marmot.")

        let read = try await database(device: "tablet").record(for: record.recordID)
        #expect(read.allKeys() == record.allKeys())
        #expect(
            read.encryptedValues.allKeys() == [
                "at", "blob", "count", "diary", "height", "place", "tags",
            ])
        for key in values.allKeys() where key != "place" {
            #expect(
                read.encryptedValues[key] as? NSObject == values[key] as? NSObject, "\(key)")
        }
        let place = read.encryptedValues["place"] as? CLLocation
        #expect(place?.coordinate.latitude == 47)
    }

    @Test func changedAndRemovedEncryptedValuesAreSaved() async throws {
        let phone = try await database()
        let tablet = try await database(device: "tablet")
        let record = try await phone.save(diary())
        record.encryptedValues["diary"] = "It whistled."
        record.encryptedValues["second"] = 2
        try await phone.save(record)
        record.encryptedValues["second"] = nil
        #expect(record.encryptedValues.changedKeys() == ["second"])
        try await phone.save(record)
        let changes = try await tablet.recordZoneChanges(inZoneWith: trips, since: nil)
        let read = try #require(try changes.modificationResultsByID[record.recordID]?.get().record)
        #expect(read.encryptedValues.allKeys() == ["diary"])
        #expect(read.encryptedValues["diary"] == "It whistled.")
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "name == 'Gipfel'"))
        let match = try await tablet.records(matching: query, inZoneWith: trips).matchResults.first
        #expect(try match?.1.get().encryptedValues["diary"] == "It whistled.")
    }

    @Test func conflictRecordsHaveDecryptedValues() async throws {
        let phone = try await database()
        let tablet = try await database(device: "tablet")
        let mine = try await phone.save(diary("first"))
        let theirs = try await tablet.record(for: mine.recordID)
        theirs.encryptedValues["diary"] = "theirs"
        try await tablet.save(theirs)
        mine.encryptedValues["diary"] = "mine"
        let error = await #expect(throws: CKError.self) { try await phone.save(mine) }
        #expect(error?.serverRecord?.encryptedValues["diary"] == "theirs")
        #expect(error?.ancestorRecord?.encryptedValues["diary"] == "first")
        #expect(error?.clientRecord?.encryptedValues["diary"] == "mine")
        let forced = try await phone.modifyRecords(
            saving: [mine], deleting: [], savePolicy: .allKeys)
        _ = try forced.saveResults[mine.recordID]?.get()
        let read = try await tablet.record(for: mine.recordID)
        #expect(read.encryptedValues["diary"] == "mine")
    }

    @Test func archivedRecordKeepsEncryptedValues() async throws {
        let phone = try await database()
        let record = try await phone.save(diary())
        record.encryptedValues["second"] = 2
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: record, requiringSecureCoding: true)))
        #expect(copy.encryptedValues.allKeys() == ["diary", "second"])
        #expect(copy.encryptedValues.changedKeys() == ["second"])
        #expect(copy.allKeys() == ["diary", "name", "second"])
        try await phone.save(copy)
        let read = try await phone.record(for: record.recordID)
        #expect(read.encryptedValues["second"] == 2)
    }

    // MARK: What the service knows

    @Test func sealedValueMovedToOtherRecordIsUnreadable() async throws {
        let container = try await container()
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        try await database.save(diary())
        let other = hut("b")
        other.encryptedValues["diary"] = "Another secret."
        try await database.save(other)
        let sealed = try await storedFields(of: "a", in: container)
        try await forge(sealed, into: "b", in: container)
        let read = try await database.record(for: other.recordID)
        #expect(read.encryptedValues.allKeys() == ["diary"])
        #expect(read.encryptedValues["diary"] == nil)
    }

    @Test func plainValueInEncryptedFieldIsIgnored() async throws {
        let container = try await container()
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        try await database.save(diary())
        try await forge(
            [Field(name: "diary", value: .bytes(Array("forged".utf8)), isEncrypted: true)],
            into: "a", in: container)
        let read = try await database.record(for: hut("a").recordID)
        #expect(read.encryptedValues["diary"] == nil && read["diary"] == nil)
    }

    private func target(_ scope: DatabaseScope) -> RequestTarget {
        RequestTarget(
            container: ContainerAddress(container: Self.identifier, environment: .development),
            scope: scope)
    }

    private func storedFields(of name: String, in container: CKContainer) async throws -> [Field] {
        let answer = try await container.connection.transport.send(
            RecordsLookup.self,
            .init(records: [.init(recordName: name, zoneID: trips.dictionary)]),
            to: target(.private), timeoutSeconds: 10)
        guard case .record(let dictionary) = answer.records.first else { return [] }
        return try dictionary.fields.values().filter(\.isEncrypted)
    }

    private func forge(
        _ fields: [Field], into name: String, in container: CKContainer
    ) async throws {
        let record = RecordDictionary(
            recordName: name, recordType: "Hut", fields: .values(fields), zoneID: trips.dictionary)
        let answer = try await container.connection.transport.send(
            RecordsModify.self, .init(operations: [.init(.forceUpdate, record)]),
            to: target(.private), timeoutSeconds: 10)
        guard case .record = answer.records.first else {
            Issue.record("\(answer)")
            return
        }
    }

    @Test func sealedValuesHidePlaintextLength() throws {
        let key = AccountKey().zoneKey(owner: "o", zoneName: "z")
        let place = SealedValue.Place(
            container: "c", owner: "o", zoneName: "z", recordName: "r", fieldName: "f")
        let sizes = try ["", "yes", "no", String(repeating: "x", count: 20)].map {
            try SealedValue.sealed(.string($0), with: key, at: place).count
        }
        #expect(Set(sizes).count == 1)
        let one = try SealedValue.sealed(.string("same"), with: key, at: place)
        let two = try SealedValue.sealed(.string("same"), with: key, at: place)
        #expect(one != two)
        #expect(SealedValue.opened(one, with: key, at: place) == .string("same"))
        for index in one.indices {
            var bent = one
            bent[index] ^= 1
            #expect(SealedValue.opened(bent, with: key, at: place) == nil)
            #expect(SealedValue.opened(Array(one[..<index]), with: key, at: place) == nil)
        }
    }

    // MARK: Keys on devices

    @Test func recoveryKeyUnlocksEncryptedValues() async throws {
        let phone = try await container(keyStore: MemoryKeyStore())
        try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: trips))
        try await phone.privateCloudDatabase.save(diary())
        let tablet = try await container(device: "tablet", keyStore: MemoryKeyStore())
        let database = tablet.privateCloudDatabase
        let record = try await database.record(for: hut("a").recordID)
        #expect(record["name"] == "Gipfel" && record.encryptedValues["diary"] == nil)
        #expect(record.encryptedValues.allKeys() == ["diary"])

        // A value that the device cannot read stays as it is, whatever the device saves.
        record["name"] = "Gipfelblick"
        _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        record.encryptedValues["diary"] = "overwritten"
        await #expect(throws: CKError(.accountTemporarilyUnavailable)) {
            try await database.save(record)
        }
        await #expect(throws: CKError(.accountTemporarilyUnavailable)) {
            try await tablet.recoveryKey()
        }
        let text = try await phone.recoveryKey()
        #expect(text.count == 69)
        await #expect(throws: CKError(.invalidArguments)) {
            try await tablet.useRecoveryKey(
                String(text.dropLast()) + (text.hasSuffix("0") ? "1" : "0"))
        }
        await #expect(throws: CKError(.invalidArguments)) {
            try await tablet.useRecoveryKey(RecoveryKey.text(of: AccountKey()))
        }
        try await tablet.useRecoveryKey(text.lowercased())
        let read = try await database.record(for: record.recordID)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
        #expect(read["name"] == "Gipfelblick")
        #expect(try await tablet.recoveryKey() == text)
    }

    @Test func concurrentFirstDevicesKeepOneAccountKey() async throws {
        let devices = try await [
            database(device: "phone", keyStore: MemoryKeyStore()),
            database(device: "tablet", keyStore: MemoryKeyStore()),
        ]
        let codes = await withTaskGroup(of: CKError.Code?.self) { group in
            for (index, device) in devices.enumerated() {
                group.addTask {
                    let record = hut("from-\(index)")
                    record.encryptedValues["diary"] = "text"
                    do {
                        try await device.save(record)
                        return nil
                    } catch {
                        return (error as? CKError)?.code ?? .internalError
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.contains(.accountTemporarilyUnavailable))
    }

    @Test func publicDatabaseRefusesEncryptedValues() async throws {
        let container = try await container()
        let record = CKRecord(recordType: "Hut")
        record.encryptedValues["diary"] = "x"
        await #expect(throws: CKError(.invalidArguments)) {
            try await container.publicCloudDatabase.save(record)
        }
    }

    @Test func encryptedValuesCannotBeQueried() async throws {
        let database = try await database()
        try await database.save(diary())
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "diary == 'x'"))
        let error = await #expect(throws: CKError.self) {
            _ = try await database.records(matching: query, inZoneWith: trips)
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains("ENCRYPTED") == true, "\(error as Any)")
    }

    @Test func encryptedValueMatchesDeclaredFieldType() async throws {
        let container = try await container()
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        // The field's type is declared as ENCRYPTED STRING by a first value of that type.
        try await forge(
            [Field(name: "diary", value: .string("x"), isEncrypted: true)], into: "b", in: container
        )
        try await database.save(diary())
        let read = try await database.record(for: hut("a").recordID)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }

    // MARK: Sharing

    @Test func participantDecryptsWithKeyInLink() async throws {
        let owner = try await container()
        let mine = owner.privateCloudDatabase
        try await mine.save(CKRecordZone(zoneID: trips))
        let share = CKShare(recordZoneID: trips)
        share[CKShare.SystemFieldKey.title] = "Our trips"
        share.publicPermission = .readWrite
        try await mine.save(share)
        try await mine.save(diary())
        let link = try #require(share.url)
        let stored = try await mine.record(for: share.recordID) as? CKShare
        #expect(stored?.url == link && ShareLinkKey.key(in: link) != nil)

        let guest = try await container(user: "ben", device: "bens", keyStore: MemoryKeyStore())
        let cut = try #require(URL(string: String(link.absoluteString.prefix { $0 != "#" })))
        let theirs = try await guest.accept(try await guest.shareMetadata(for: cut))
        let recordID = CKRecord.ID(recordName: "a", zoneID: theirs.recordID.zoneID)
        let shared = guest.sharedCloudDatabase
        // Through a link without its key Ben sees the record, but not its encrypted value.
        #expect(try await shared.record(for: recordID).encryptedValues["diary"] == nil)
        let metadata = try await guest.shareMetadata(for: link)
        let archived = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKShareMetadata.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: metadata, requiringSecureCoding: true)))
        let joined = try await guest.accept(archived)
        #expect(joined.url == link)
        let record = try await shared.record(for: recordID)
        #expect(record.encryptedValues["diary"] == "We met a marmot.")
        record.encryptedValues["diary"] = "Ben saw it too."
        try await shared.save(record)
        let seen = try await mine.record(for: hut("a").recordID)
        #expect(seen.encryptedValues["diary"] == "Ben saw it too.")

        // Ben's other device needs only his own key.
        let second = try await container(
            user: "ben", device: "second", keyStore: MemoryKeyStore())
        try await second.useRecoveryKey(try await guest.recoveryKey())
        let read = try await second.sharedCloudDatabase.record(for: recordID)
        #expect(read.encryptedValues["diary"] == "Ben saw it too.")
    }

    @Test func shareMetadataDecryptsRootRecord() async throws {
        let owner = try await container()
        let database = owner.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        let root = diary()
        let scratch = try Scratch()
        root["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 30))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        let saved = try await database.modifyRecords(saving: [root, share], deleting: [])
        _ = try saved.saveResults[share.recordID]?.get()
        let link = try #require(share.url)
        let guest = try await container(user: "ben", device: "bens", keyStore: MemoryKeyStore())
        let fetch = CKFetchShareMetadataOperation(shareURLs: [link])
        fetch.shouldFetchRootRecord = true
        let (results, result) = AsyncStream<Result<CKShare.Metadata, any Error>>.makeStream()
        fetch.perShareMetadataResultBlock = { _, found in result.yield(found) }
        fetch.fetchShareMetadataResultBlock = { _ in result.finish() }
        guest.add(fetch)
        for await found in results {
            let record = try #require(try found.get().rootRecord)
            #expect(record.encryptedValues["diary"] == "We met a marmot.")
            let url = try #require((record["photo"] as? CKAsset)?.fileURL)
            #expect([UInt8](try Data(contentsOf: url)) == content(30))
        }
    }

    @Test func shareLinkCarriesKeyAfterTitle() throws {
        let key = AccountKey().zoneKey(owner: "o", zoneName: "z")
        for text in ["https://a.b/share/x", "https://a.b/share/x#T", "https://a.b/share/x#T~y"] {
            let url = try #require(URL(string: text))
            #expect(ShareLinkKey.key(in: url) == nil)
            let link = ShareLinkKey.link(url, with: key)
            #expect(ShareLinkKey.key(in: link) == key)
            #expect(ShareLinkKey.link(link, with: key) == link)
            #expect(link.lastPathComponent == "x" && link.absoluteString.hasPrefix(text))
        }
    }
}
