import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// The keys of encrypted values: when the keyring is looked up, and what devices keep without it.
@Suite struct KeyringTests: EncryptionFixture {
    let cloud = TestCloud()
    let uptimeSeconds = StandingClock()

    @Test func missingZoneKeyIsLookedUpOnce() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        let link = try await share(by: ida, count: 30)
        // Ben has his own key, and Ida's link without her key.
        try await ben.own.save(CKRecordZone(zoneID: trips))
        try await ben.own.save(diary("his", "Mine."))
        let cut = try #require(URL(string: String(link.absoluteString.prefix { $0 != "#" })))
        let zoneID = try await ben.join(cut).recordID.zoneID
        let lookups = countLookups(of: ben)
        // That one zone's key was missing just now does not mean that another zone's key is missing.
        let cy = try await device("cy")
        let cys = try await share(by: cy)
        let second = try await device("ben")
        try await second.container.useRecoveryKey(try await ben.container.recoveryKey())

        func read() async throws -> [String?] {
            let changes = try await ben.shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
            return try changes.modificationResultsByID.values.map { try $0.get().record }
                .filter { $0.recordType == "Hut" }.map { $0.encryptedValues["diary"] }
        }
        uptimeSeconds.pass(3_600)
        #expect(try await read() == Array(repeating: nil, count: 30))
        #expect(lookups() == 1)
        _ = try await second.join(cys)
        try await expectTrust(ben, cy)
        #expect(lookups() == 2)
        #expect(try await read().count == 30)
        #expect(lookups() == 2)
        // Later his other device may have opened the complete link.
        uptimeSeconds.pass(3_600)
        #expect(try await read().count == 30)
        #expect(lookups() == 3)
        let saved = try await ben.shared.modifyRecords(
            saving: (0..<30).map {
                let recordID = CKRecord.ID(recordName: "new-\($0)", zoneID: zoneID)
                let record = CKRecord(recordType: "Hut", recordID: recordID)
                record.encryptedValues["diary"] = "text"
                return record
            }, deleting: [], atomically: false)
        for result in saved.saveResults.values {
            #expect((result.failure as? CKError)?.code == .permissionFailure)
        }
        #expect(saved.saveResults.count == 30 && lookups() == 4)
        _ = try await ben.join(link)
        #expect(try await read() == Array(repeating: "We met a marmot.", count: 30))
    }

    @Test func differentAccountKeyLooksUpKeyringOnlyToWrite() async throws {
        let phone = try await device("ida")
        _ = try await share(by: phone, count: 30)
        let keys = MemoryKeyStore()
        let tablet = try await device("ida", keyStore: keys)
        let account = CloudKeyAccount(
            container: Trip.identifier, environment: .development,
            user: try await tablet.container.userRecordID().recordName)
        _ = keys.addKey(AccountKey().bytes, for: account)
        let lookups = countLookups(of: tablet)
        let changes = try await tablet.own.recordZoneChanges(inZoneWith: trips, since: nil)
        #expect(changes.modificationResultsByID.count == 31 && lookups() == 0)
        let saved = try await tablet.own.modifyRecords(
            saving: (0..<30).map { diary("new-\($0)", "text") }, deleting: [], atomically: false)
        for result in saved.saveResults.values {
            #expect((result.failure as? CKError)?.code == .accountTemporarilyUnavailable)
        }
        #expect(saved.saveResults.count == 30 && lookups() == 1)
    }

    private func countLookups(of device: EncryptionDevice) -> () -> Int {
        let lookups = Log()
        device.transport.tap {
            $0.request = { if isKeyringLookup($0) { lookups.add("keyring") } }
        }
        return { lookups.all.count }
    }

    @Test func ownValuesAreReadWithoutKeyring() async throws {
        let keys = MemoryKeyStore()
        let first = try await device("ida", keyStore: keys)
        _ = try await share(by: first)
        let keyring = CKRecord.ID(recordName: CloudKeyring.recordName)
        try await first.own.deleteRecord(withID: keyring)

        let phone = try await device("ida", keyStore: keys)
        let record = try await phone.own.record(for: hut("diary-0").recordID)
        #expect(record.encryptedValues["diary"] == "We met a marmot.")
        await #expect(throws: CKError(.invalidArguments)) {
            try await phone.container.useRecoveryKey(RecoveryKey.text(of: AccountKey()))
        }
        // The next encryption recreates the keyring with the same key.
        try await phone.own.save(diary("second", "It whistled."))
        let tablet = try await device("ida")
        try await tablet.container.useRecoveryKey(try await phone.container.recoveryKey())
        let read = try await tablet.own.record(for: record.recordID)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }

    @Test func accountKeyIsReplacedOnlyAfterForgetting() async throws {
        let phone = try await device("ida")
        _ = try await share(by: phone)
        let text = try await phone.container.recoveryKey()
        let keys = MemoryKeyStore()
        let tablet = try await device("ida", keyStore: keys)
        let user = try await tablet.container.userRecordID().recordName
        let account = CloudKeyAccount(
            container: Trip.identifier, environment: .development, user: user)
        let older = AccountKey()
        _ = keys.addKey(older.bytes, for: account)
        await #expect(throws: CKError(.invalidArguments)) {
            try await tablet.container.useRecoveryKey(text)
        }
        #expect(try await tablet.container.forgetRecoveryKey() == RecoveryKey.text(of: older))
        #expect(try await tablet.container.forgetRecoveryKey() == nil)
        try await tablet.container.useRecoveryKey(text)
        try await tablet.container.useRecoveryKey(text)
        let read = try await tablet.own.record(for: hut("diary-0").recordID)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }

    /// The store may have the last copy of the key: a sign-out leaves it there, and removes it from memory.
    @Test func signOutKeepsKeyInStoreOnly() async throws {
        let keys = MemoryKeyStore()
        let connection = try await cloud.connect(user: "ida", device: "phone", keyStore: keys)
        let container = CKContainer(identifier: Trip.identifier, connection: connection)
        let user = try await container.userRecordID().recordName
        let account = CloudKeyAccount(
            container: Trip.identifier, environment: .development, user: user)
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        try await database.save(diary("a", "We met a marmot."))

        func read() async throws -> String? {
            try connection.signOut()
            try await cloud.signIn("ida", on: connection)
            return try await database.record(for: hut("a").recordID).encryptedValues["diary"]
        }
        #expect(try await read() == "We met a marmot.")
        let kept = try #require(keys.key(for: account))
        keys.removeKey(for: account)
        #expect(try await read() == nil)
        _ = keys.addKey(kept, for: account)
        _ = try await container.forgetRecoveryKey()
        #expect(try await read() == nil && keys.key(for: account) == nil)
    }
}
