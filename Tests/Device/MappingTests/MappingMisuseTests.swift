import Foundation
import InMemoryLogging
import Logging
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// The first mistakes of a new user: each one is reported, and none loses data.
@Suite(.timeLimit(.minutes(20)))
struct MappingMisuseTests {
    let cloud = TestCloud()

    struct Unset: CloudKeyed {
        static let cloudMap = CloudMap<Unset>("Unset").field(\.text, "text")
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var text = ""
    }

    @Test func saveBeforeSetupThrowsNotSetUp() async throws {
        let error = await #expect(throws: MappingError.self) {
            try await Unset().iCloud.saveAndWait()
        }
        #expect(error?.code == .notSetUp)
        #expect(error?.sentence.contains("No CloudMapping was set up with Unset.") == true)
        // Calls without waiting have no store to notify here: they log the error.
        let logs = InMemoryLogHandler()
        let before = CloudMapping.withoutSetup.withLock { logger in
            defer { logger = Logger(label: "test") { _ in logs } }
            return logger
        }
        Unset().iCloud.save()
        CloudMapping.withoutSetup.withLock { $0 = before }
        #expect(
            logs.entries.contains { $0.level == .error && "\($0.message)".contains("Unset") })
    }

    @Test func unmappedTypeIsRefused() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let calls: [@Sendable () async throws -> Void] = [
            { try await phone.mapping.save(Unset()) },
            { try await phone.mapping.delete(Unset()) },
            { try await phone.mapping.syncEntities(specific: [Unset.self]) },
            { _ = try await phone.mapping.plan(specific: [Unset.self]) },
            {
                try await phone.mapping.update(
                    Unset(), from: CKRecord(recordType: "Unset"))
            },
        ]
        for call in calls {
            let error = await #expect(throws: MappingError.self) { try await call() }
            #expect(error?.code == .notSetUp)
        }
    }

    @Test func keyPathOfNoFieldIsRefused() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let anna = phone.addPerson("Anna")
        let error = await #expect(throws: MappingError.self) {
            try await phone.run { try await anna.iCloud.saveKeysAndWait(\.age, \.isDraft) }
        }
        #expect(error?.code == .notMapped)
        #expect(try await phone.records("Person").isEmpty)
    }

    struct Double: CloudKeyed {
        static let cloudMap = CloudMap<Double>("Double").field(\.text, "one").field(\.text, "two")
        var syncID: String?
        var changeDate: Date?
        var text = ""
    }

    @Test func propertyWithTwoFieldsThrowsAtSetup() async throws {
        let error = await #expect(throws: MappingError.self) {
            _ = try await MappedDevice(cloud, "phone", types: [Double.self])
        }
        #expect(error?.sentence.contains("Double has one property as both one and two") == true)
    }

    @Test func storeKeepsObjectsOfTypesItCannotCreate() async throws {
        let store = MemoryStore()
        store.insert(Home(HomeFields(road: "Lake Road")))
        #expect(store.objects(Home.self).map(\.road) == ["Lake Road"])
        let error = await #expect(throws: MappingError.self) {
            _ = try await store.create(Home.self, syncID: "a")
        }
        #expect(error?.code == .notSetUp)
    }

    /// As in an app that creates its first screen twice.
    @Test func secondSetupWithTheSameFileLosesNothing() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let anna = phone.addPerson("Anna")
        try await phone.sync()
        let again = try await MappedDevice(cloud, "phone", store: phone.store, file: phone.file)
        try await again.sync()
        phone.transport.isOffline = true
        phone.store.memory.remove(anna)
        await #expect(throws: CKError.self) { try await phone.mapping.delete(anna) }
        let later = try await again.restarted()
        try await later.sync()
        #expect(try await later.records("Person").isEmpty)
    }

    /// A field that the app encrypted before stays encrypted, and a device without its key does not change it.
    @Test func encryptedFieldStaysEncrypted() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let keyless = try await MappedDevice(cloud, "tablet", keyStore: MemoryKeyStore())
        let anna = phone.addPerson("Anna")
        try await phone.mapping.save(anna)
        let record = try await phone.record(anna.syncID)
        record.encryptedValues["lastName"] = "Berg"
        _ = try await phone.database.save(record)
        try await phone.sync()
        #expect(anna.lastName == "Berg")
        anna.edit { $0.lastName = "Lund" }
        try await phone.mapping.save(anna)
        func secret() async throws -> String? {
            try await phone.record(anna.syncID).encryptedValues["lastName"] as? String
        }
        #expect(try await secret() == "Lund")
        try await keyless.sync()
        let copy = try #require(keyless.person("Anna"))
        #expect(copy.lastName == nil)
        copy.edit { $0.age = 40 }
        try await keyless.mapping.save(copy)
        #expect(try await phone.record(anna.syncID)["age"] == 40)
        #expect(try await secret() == "Lund")
    }

    /// The records have values of other types than the map declares.
    @Test func valuesOfOtherTypesAreLeftInTheRecord() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        try await phone.sync()
        let record = CKRecord(
            recordType: "Person",
            recordID: CKRecord.ID(
                recordName: "anna", zoneID: CKRecordZone.ID(zoneName: "Objects")))
        record["firstName"] = "Anna"
        record["age"] = "old"
        record["address"] = "Lake Road 3"
        record["photo"] = "a lake"
        _ = try await phone.database.save(record)
        try await phone.sync()
        let anna = try #require(phone.person("Anna"))
        #expect(anna.age == 18)
        #expect(anna.home === HomeFields.unknown)
        #expect(anna.photo == nil)
        anna.edit { $0.firstName = "Hanna" }
        try await phone.mapping.save(anna)
        let saved = try await phone.record("anna")
        #expect(saved["firstName"] == "Hanna")
        #expect(saved["age"] == "old")
        #expect(saved["address"] == "Lake Road 3")
        #expect(saved["photo"] == "a lake")
        // A value of a type that the field does not accept is an error, and nothing of the edit is saved.
        anna.edit { $0.age = 40 }
        let error = await #expect(throws: CKError.self) { try await phone.mapping.save(anna) }
        #expect(error?.localizedDescription.contains("expected type STRING") == true)
        #expect(try await phone.record("anna")["age"] == "old")
    }
}
