import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// The app decides which fields are encrypted: no resolver sends an encrypted field in the clear, and no service writes
/// into one.
@Suite struct EncryptedFieldTests {
    private static let secret = "Grossglockner"
    private static let forgery = "Send money to Mallory."
    private let cloud = TestCloud()

    /// Merges into the service's record, with the plain subscript alone.
    private struct Merging: ConflictResolver {
        var keys = ["text"]
        /// The value that it writes instead of the device's.
        var value: String?

        func resolve(_ conflict: SyncConflict) -> ConflictResolution {
            var merged = conflict.server
            for key in keys { merged[key] = value.map { .string($0) } ?? conflict.client[key] }
            return .save(fields: merged.fields)
        }
    }

    /// Writes the texts of both sides, one after the other.
    private struct Joining: ConflictResolver {
        func resolve(_ conflict: SyncConflict) -> ConflictResolution {
            var merged = conflict.server
            var texts: [String] = []
            for side in [conflict.client, conflict.server] {
                if case .string(let text) = side["text"] { texts.append(text) }
            }
            merged["text"] = .string(texts.joined(separator: " "))
            return .save(fields: merged.fields)
        }
    }

    private let id = CKRecord.ID(recordName: "a", zoneID: .list)

    /// Two devices that have fetched record a; the first one has changed its name since.
    private func devices(
        _ resolver: any ConflictResolver, keyStore: (any CloudKeyStore)? = nil,
        text: String? = nil
    ) async throws -> (phone: CloudDevice, tablet: CloudDevice) {
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(
            cloud, "tablet", resolver: resolver, keyStore: keyStore)
        let record = CKRecord(recordType: "Item", recordID: id)
        record["name"] = "milk"
        if let text { record.encryptedValues["text"] = text }
        try await phone.cache.save(record)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try edit(phone) { $0["name"] = "butter" }
        try await phone.cache.sync()
        return (phone, tablet)
    }

    private func edit(_ device: CloudDevice, _ change: (CKRecord) -> Void) throws {
        let record = try #require(try device.cache.record(for: id))
        change(record)
        try device.cache.save(record)
    }

    /// Collects the fields that a device sends from now on.
    private func sentFields(of device: CloudDevice) -> Mutexed<[Field]> {
        let sent = Mutexed<[Field]>([])
        device.transport.tap { request, answer in
            if let request = request as? RecordsModify.Request {
                for operation in request.operations {
                    // Unreadable fields have no text that could leak.
                    sent.value.withLock { $0 += (try? operation.record.fields.values()) ?? [] }
                }
            }
            return answer
        }
        return sent
    }

    @Test func resolverKeepsFieldOfOneDeviceEncrypted() async throws {
        let (phone, tablet) = try await devices(Merging())
        try edit(tablet) { $0.encryptedValues["text"] = Self.secret }
        let sent = sentFields(of: tablet)
        try await tablet.cache.sync()
        let fields = sent.value.withLock { $0 }
        #expect(fields.contains { $0.name == "text" && $0.isEncrypted })
        #expect(!fields.contains { $0.value == .string(Self.secret) })
        try await phone.cache.sync()
        let read = try await #require(try phone.cache.record(for: id))
        #expect(read.encryptedValues["text"] == Self.secret && read["name"] == "butter")
        // Later saves work as before.
        try edit(phone) { $0.encryptedValues["text"] = "Later." }
        try await phone.cache.sync()
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func resolvedFieldStaysEncryptedLikeTheAncestor() async throws {
        let (phone, tablet) = try await devices(
            Merging(value: Self.secret), text: "We met a marmot.")
        // The service's record has lost the field, and so has this device's record.
        try edit(phone) { $0.encryptedValues["text"] = nil as String? }
        try await phone.cache.sync()
        try edit(tablet) {
            $0.encryptedValues["text"] = nil as String?
            $0["name"] = "bread"
        }
        let sent = sentFields(of: tablet)
        try await tablet.cache.sync()
        #expect(!sent.value.withLock { $0 }.contains { $0.value == .string(Self.secret) })
        try await phone.cache.sync()
        #expect(try await phone.cache.record(for: id)?.encryptedValues["text"] == Self.secret)
    }

    /// The resolver adds a field that neither side's record marks as encrypted.
    @Test func plainValueOfResolverForEncryptedFieldIsSetAside() async throws {
        let (_, tablet) = try await devices(
            Merging(value: Self.secret), keyStore: ForgettingKeyStore(cloud.keyStore))
        let other = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: "b", zoneID: .list))
        other.encryptedValues["text"] = "We met a marmot."
        try await tablet.cache.save(other)
        // After a restart only the file shows that the field is encrypted.
        try tablet.restart()
        try edit(tablet) { $0["name"] = "bread" }
        let sent = sentFields(of: tablet)
        try await tablet.cache.sync()
        #expect(!sent.value.withLock { $0 }.contains { $0.value == .string(Self.secret) })
        let item = try await #require(try tablet.cache.attentionItems().first)
        #expect(item.recordID == id && item.failure.code == .invalidArguments)
        #expect(item.failure.message.contains("text") && item.failure.message.contains("Item"))
    }

    @Test func forgedAnswerIsNotMergedIntoEncryptedField() async throws {
        for isEncrypted in [true, false] {
            let cloud = EncryptedFieldTests()
            try await cloud.expectNoForgery(isEncrypted)
        }
    }

    private func expectNoForgery(_ isEncrypted: Bool) async throws {
        let (phone, tablet) = try await devices(
            Joining(), keyStore: ForgettingKeyStore(cloud.keyStore), text: "We met a marmot.")
        try edit(tablet) { $0.encryptedValues["text"] = Self.secret }
        let field = Field(
            name: "text", value: .string(Self.forgery), isEncrypted: isEncrypted)
        @Sendable func forge(_ result: RecordResult) -> RecordResult {
            switch result {
            case .record(var record) where record.recordType == "Item":
                record.fields = .values([field])
                return .record(record)
            case .failure(var failure):
                failure.serverRecord?.fields = .values([field])
                failure.ancestorRecord?.fields = .values([field])
                return .failure(failure)
            case .record, .deleted: return result
            }
        }
        tablet.transport.tap { _, answer in
            switch answer {
            case var answer as RecordsLookup.Answer:
                answer.records = answer.records.map(forge)
                return answer
            case let answer as ChangesZone.Answer:
                return ChangesZone.Answer(
                    answer.items.map { item in
                        item.map { page in
                            var page = page
                            page.records = page.records.map(forge)
                            return page
                        }
                    })
            default: return answer
            }
        }
        try await tablet.cache.sync()
        let kept = try await #require(try tablet.cache.record(for: id))
        #expect(kept.encryptedValues["text"] == Self.secret && kept["text"] == Self.secret)
        // A fetched page does not fill the field of an unedited record either.
        try edit(phone) { $0["name"] = "bread" }
        try await phone.cache.sync()
        await tablet.cache.fetchSoon(.list)
        try await tablet.cache.sync()
        let fetched = try await #require(try tablet.cache.record(for: id))
        #expect(fetched.encryptedValues["text"] as String? != Self.forgery)
        #expect(fetched["text"] as String? == nil)
        try await phone.cache.sync()
        let read = try await #require(try phone.cache.record(for: id))
        let text: String = read.encryptedValues["text"] ?? ""
        #expect(!text.contains(Self.forgery))
    }

    /// In a file of format 3 the records show which fields were encrypted.
    @Test func migrationFromFormat3RemembersEncryptedFields() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let device = try CloudCache(path: path, remotes: [RealService().remote()])
        try device.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: ZoneID(.list)), type: "Item",
                changes: [
                    Field(name: "text", value: .string("x"), isEncrypted: true),
                    Field(name: "name", value: .string("y")),
                ])
        ])
        try device.close()
        try DatabaseQueue.other(path).writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    PRAGMA foreign_keys = OFF;
                    \(DatabaseQueue.tablesOfFormat4)
                    DROP TABLE encryptedField;
                    DELETE FROM grdb_migrations
                    WHERE identifier IN ('encrypted fields', 'databases', 'assets');
                    """)
            try database.execute(sql: "PRAGMA user_version = 3")
        }
        let again = try CloudCache(path: path, remotes: [RealService().remote()])
        #expect(again.store.encryptedKeys(ofType: "Item") == ["text"])
        try again.close()
    }

    /// The tablet gets the phone's key of encrypted values, and fetches everything again.
    ///
    /// - Returns: the tablet's container.
    @discardableResult
    private func giveKey(
        of phone: CloudDevice, to tablet: CloudDevice
    ) async throws -> CKContainer {
        let container = CloudDevice.container(tablet.connection)
        let recoveryKey = try await CloudDevice.container(phone.connection).recoveryKey()
        try await container.useRecoveryKey(recoveryKey)
        try await tablet.cache.refetchEverything()
        return container
    }

    /// A value is readable once the device has its key, whether the record was edited meanwhile or not. A value that
    /// was read stays when the key is removed.
    @Test(arguments: [false, true])
    func encryptedValuesAreReadOnceTheKeyIsKnown(isEdited: Bool) async throws {
        let phone = try await CloudDevice(cloud, "phone")
        let record = CKRecord(recordType: "Item", recordID: id)
        record.encryptedValues["text"] = Self.secret
        try await phone.cache.save(record)
        try await phone.cache.sync()
        let tablet = try await CloudDevice(cloud, "tablet", keyStore: MemoryKeyStore())
        try await tablet.cache.sync()
        #expect(try await tablet.cache.record(for: id)?["text"] as String? == nil)
        if isEdited { try edit(tablet) { $0["name"] = "milk" } }
        let container = try await giveKey(of: phone, to: tablet)
        for device in [tablet, phone] {
            try await device.cache.sync()
            let here = try #require(try await device.cache.record(for: id))
            #expect(here["text"] == Self.secret)
            #expect(here["name"] == (isEdited ? "milk" : nil))
        }
        _ = try await container.forgetRecoveryKey()
        try await tablet.cache.refetchEverything()
        try await tablet.cache.sync()
        #expect(try await tablet.cache.record(for: id)?["text"] == Self.secret)
    }

    /// A migration without the value would write a wrong result.
    @Test func migrationWaitsForTheKeyOfAnEncryptedField() async throws {
        var versions = RecordVersions()
        versions.declare("Item", key: "version", current: 2)
        versions.migrate("Item", to: 2) { record in
            record.encryptedValues["title"] = (record["text"] as String?) ?? "untitled"
            return record
        }
        let phone = try await CloudDevice(cloud, "phone")
        let record = CKRecord(recordType: "Item", recordID: id)
        record.encryptedValues["text"] = Self.secret
        try await phone.cache.save(record)
        try await phone.cache.sync()
        let tablet = try await CloudDevice(
            cloud, "tablet", keyStore: MemoryKeyStore(), versions: versions)
        try await tablet.cache.sync()
        var here = try #require(try await tablet.cache.record(for: id))
        #expect(here["title"] == nil && here["version"] == nil)
        #expect(try await tablet.cache.pendingRecordIDs().isEmpty)
        try await giveKey(of: phone, to: tablet)
        for device in [tablet, phone] {
            try await device.cache.sync()
            here = try #require(try await device.cache.record(for: id))
            #expect(here["text"] == Self.secret && here["title"] == Self.secret)
            #expect(here["version"] == 2)
        }
    }
}

/// A key store that keeps keys, but not the list of encrypted fields.
private struct ForgettingKeyStore: PassingKeyStore {
    let store: any CloudKeyStore

    init(_ store: any CloudKeyStore) { self.store = store }
}

private final class Mutexed<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
}
