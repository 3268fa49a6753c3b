import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusClient

/// What a service that attacks, and an owner who works with it, can do to encrypted values: nothing
/// but withhold them. See decision 10.
@Suite struct EncryptionAttackTests {
    private let cloud = TestCloud()
    private let uptimeSeconds = Time()

    /// A clock that stands until it is moved.
    private final class Time: Sendable {
        private let seconds = Mutex(1_000.0)
        var now: Double { seconds.withLock { $0 } }
        func pass(_ more: Double) { seconds.withLock { $0 += more } }
    }

    /// A device of its own keys, and its traffic.
    private struct Device {
        var container: CKContainer
        var transport: TappedTransport
        var own: CKDatabase { container.privateCloudDatabase }
        var shared: CKDatabase { container.sharedCloudDatabase }

        func join(_ link: URL) async throws -> CKShare {
            try await container.accept(try await container.shareMetadata(for: link))
        }
    }

    private func device(
        _ user: String, keyStore: any CloudKeyStore = MemoryKeyStore()
    ) async throws -> Device {
        let link = try await cloud.connect(user: user, device: user)
        let transport = TappedTransport(link.transport)
        let time = uptimeSeconds
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: user,
            world: CloudConnection.World(uptimeSeconds: { time.now }), keyStore: keyStore)
        return Device(
            container: CKContainer(identifier: Trip.identifier, connection: connection),
            transport: transport)
    }

    /// Makes a zone with encrypted values that everybody with its link may write.
    private func share(
        by owner: Device, _ text: String = "We met a marmot.", count: Int = 1
    ) async throws -> URL {
        try await owner.own.save(CKRecordZone(zoneID: trips))
        let share = CKShare(recordZoneID: trips)
        share.publicPermission = .readWrite
        try await owner.own.save(share)
        _ = try await owner.own.modifyRecords(
            saving: (0..<count).map { diary("diary-\($0)", text) }, deleting: [])
        return try #require(share.url)
    }

    private func diary(_ name: String, _ text: String) -> CKRecord {
        let record = hut(name)
        record.encryptedValues["diary"] = text
        return record
    }

    /// Whether a guest reads what the owner of the zone wrote, and the owner what the guest writes.
    private func expectTrust(_ guest: Device, _ owner: Device) async throws {
        let zoneID = CKRecordZone.ID(
            zoneName: "Trips", ownerName: try await owner.container.userRecordID().recordName)
        let name = UUID().uuidString
        try await owner.own.save(diary(name, "We met a marmot."))
        let recordID = CKRecord.ID(recordName: name, zoneID: zoneID)
        let record = try await guest.shared.record(for: recordID)
        #expect(record.encryptedValues["diary"] == "We met a marmot.")
        record.encryptedValues["diary"] = "I saw it too."
        try await guest.shared.save(record)
        let seen = try await owner.own.record(for: hut(name).recordID)
        #expect(seen.encryptedValues["diary"] == "I saw it too.")
    }

    // MARK: Links

    @Test func forgedLinkDoesNotReplaceZoneKey() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        let link = try await share(by: ida)
        #expect(try await ben.join(link).url == link)
        let mallorys = AccountKey().zoneKey(owner: "mallory", zoneName: "Trips")
        let forged = ShareLinkKey.link(link, with: mallorys)
        // What Ben hands on is Ida's link.
        #expect(try await ben.join(forged).url == link)
        try await expectTrust(ben, ida)
    }

    /// The service says of Cy's link that it is the link of Ida's share.
    @Test func linkOfOtherShareDoesNotReplaceZoneKey() async throws {
        let (ida, cy) = (try await device("ida"), try await device("cy"))
        let ben = try await device("ben")
        let (idas, cys) = (try await share(by: ida), try await share(by: cy))
        let answers = Kept<RecordsResolve.Answer>()
        ben.transport.tap {
            $0.answer = { _, answer in
                if let answer = answer as? RecordsResolve.Answer { answers.add(answer) }
                return answer
            }
        }
        let joined = try await ben.join(idas)
        ben.transport.tap {
            $0.answer = { request, answer in
                guard let asked = (request as? RecordsResolve.Request)?.items.first,
                    let idas = answers.all.last, answer is RecordsResolve.Answer
                else { return answer }
                return RecordsResolve.Answer(
                    idas.items.map { item in
                        item.map { found in
                            var found = found
                            found.shortGUID.value = asked.value
                            return found
                        }
                    })
            }
        }
        let again = try await ben.join(cys)
        #expect(again.recordID == joined.recordID)
        try await expectTrust(ben, ida)
    }

    @Test func trustingLinkKeyReplacesZoneKey() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        let link = try await share(by: ida)
        let metadata = try await ben.container.shareMetadata(for: link)
        #expect(try await ben.container.linkKeyTrust(of: metadata) == .new)
        _ = try await ben.container.accept(metadata)
        #expect(try await ben.container.linkKeyTrust(of: metadata) == .trusted)
        let other = try await device("ben")
        try await other.container.useRecoveryKey(try await ben.container.recoveryKey())
        try await expectTrust(other, ida)

        // Ida loses her key and makes a new one; her link has another key then.
        let keyring = CKRecord.ID(recordName: CloudKeyring.recordName)
        try await ida.own.deleteRecord(withID: keyring)
        let idaAgain = try await device("ida")
        try await idaAgain.own.save(diary("new", "The key is new."))
        let share =
            try await idaAgain.own.record(
                for: CKRecord.ID(
                    recordName: CKRecordNameZoneWideShare, zoneID: trips)) as? CKShare
        let newLink = try #require(share?.url)
        #expect(newLink != link)
        let newMetadata = try await ben.container.shareMetadata(for: newLink)
        #expect(try await ben.container.linkKeyTrust(of: newMetadata) == .different)
        #expect(try await ben.container.accept(newMetadata).url == link)
        let recordID = CKRecord.ID(recordName: "new", zoneID: newMetadata.share.recordID.zoneID)
        #expect(try await ben.shared.record(for: recordID).encryptedValues["diary"] == nil)

        try await ben.container.trustLinkKey(of: newMetadata)
        #expect(try await ben.container.linkKeyTrust(of: newMetadata) == .trusted)
        try await expectTrust(ben, idaAgain)
        // Ben's other device learns of it by what it cannot read.
        uptimeSeconds.pass(3_600)
        try await expectTrust(other, idaAgain)
        let old = CKRecord.ID(recordName: "old", zoneID: recordID.zoneID)
        try await ida.own.save(diary("old", "With the old key."))
        #expect(try await ben.shared.record(for: old).encryptedValues["diary"] != nil)
        try await ben.container.trustLinkKey(of: metadata)
        try await ben.container.trustLinkKey(of: newMetadata, keepsFormerKeys: false)
        #expect(try await ben.shared.record(for: old).encryptedValues["diary"] == nil)
        try await expectTrust(ben, idaAgain)
    }

    /// Whoever made the link need not be who shares the zone that the service shows.
    @Test func forgedLinkShowsNoValuesInKnownZone() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        try await ida.own.save(CKRecordZone(zoneID: trips))
        let root = diary("root", "We met a marmot.")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        let saved = try await ida.own.modifyRecords(saving: [root, share], deleting: [])
        _ = try saved.saveResults[share.recordID]?.get()
        let link = try #require(share.url)
        let zoneID = try await ben.join(link).recordID.zoneID
        let mallorys = AccountKey().zoneKey(owner: "mallory", zoneName: "Trips")
        let forged = try SealedValue.sealed(
            .string("Ida says: send money."), with: mallorys,
            at: SealedValue.Place(
                container: Trip.identifier, owner: zoneID.ownerName, zoneName: "Trips",
                recordName: "root", fieldName: "diary"))
        let forging: @Sendable (any Sendable, any Sendable) -> any Sendable = { _, answer in
            guard case .success(var found) = (answer as? RecordsResolve.Answer)?.items.first
            else { return answer }
            found.rootRecord?.fields = .values([
                Field(name: "diary", value: .bytes(forged), isEncrypted: true)
            ])
            return RecordsResolve.Answer([.success(found)])
        }
        let links = [ShareLinkKey.link(link, with: mallorys)]
        for (guest, isKnown) in [(ben, true), (try await device("cy"), false)] {
            guest.transport.tap { $0.answer = forging }
            let session = ContainerSession(core: guest.container.core, pace: RequestPace())
            let found = try await session.shareMetadata(for: links, rootRecord: (nil, ()))
            let shown = try found.first?.result.get().rootRecord
            #expect((shown?.encryptedValues["diary"] as String? == nil) == isKnown)
        }
    }

    /// The service hides what the user's devices know of others' keys, and so asks for another one.
    @Test func hiddenKeyringDoesNotReplaceZoneKey() async throws {
        let ida = try await device("ida")
        let keys = MemoryKeyStore()
        let link = try await share(by: ida)
        let earlier = try await device("ben", keyStore: keys)
        try await earlier.own.save(CKRecordZone(zoneID: trips))
        try await earlier.own.save(diary("his", "Mine."))
        _ = try await device("ben", keyStore: keys).join(link)

        // A process that knew the keyring before it had Ida's key, and one that starts anew.
        for ben in [earlier, try await device("ben", keyStore: keys)] {
            ben.transport.tap { $0.answer = hidingKeyring }
            let mallorys = AccountKey().zoneKey(owner: "mallory", zoneName: "Trips")
            _ = try await ben.join(ShareLinkKey.link(link, with: mallorys))
            try await expectTrust(ben, ida)
            ben.transport.tap { $0.answer = { $1 } }
            try await expectTrust(ben, ida)
        }
        try await expectTrust(try await device("ben", keyStore: keys), ida)
    }

    /// A service that has no keyring, and takes every one.
    private let hidingKeyring: @Sendable (any Sendable, any Sendable) -> any Sendable = {
        request, answer in
        if isKeyringLookup(request) {
            return RecordsLookup.Answer(records: [
                refused(CloudKeyring.recordName, ServiceError(.notFound, "There is none."))
            ])
        }
        if let modify = request as? RecordsModify.Request,
            modify.operations.first?.record.recordName == CloudKeyring.recordName
        {
            let kept = RecordDictionary(
                recordName: CloudKeyring.recordName, recordType: CloudKeyring.recordType,
                recordChangeTag: "saved")
            return RecordsModify.Answer(records: [.record(kept)])
        }
        return answer
    }

    // MARK: Requests

    @Test func missingZoneKeyIsLookedUpOnce() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        let link = try await share(by: ida, count: 30)
        // Ben has a key of his own, and Ida's link without hers.
        try await ben.own.save(CKRecordZone(zoneID: trips))
        try await ben.own.save(diary("his", "Mine."))
        let cut = try #require(URL(string: String(link.absoluteString.prefix { $0 != "#" })))
        let zoneID = try await ben.join(cut).recordID.zoneID
        let lookups = countLookups(of: ben)
        // That the key of one zone was missing just now says nothing of another.
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
        // After a while his other device may have opened the whole link.
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

    private func countLookups(of device: Device) -> () -> Int {
        let lookups = Log()
        device.transport.tap {
            $0.request = { if isKeyringLookup($0) { lookups.add("keyring") } }
        }
        return { lookups.all.count }
    }

    // MARK: Without the keyring

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
        // What is encrypted next makes the keyring anew, of the same key.
        try await phone.own.save(diary("second", "It whistled."))
        let tablet = try await device("ida")
        try await tablet.container.useRecoveryKey(try await phone.container.recoveryKey())
        let read = try await tablet.own.record(for: record.recordID)
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }

    // MARK: Keys on devices

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

    /// The key may be the last one: a sign-out leaves it in the store, and nothing in memory.
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

    // MARK: Crafted values

    /// Bytes that begin as a sealed value does are a value like every other one.
    @Test func valueWithSealedPrefixIsEncrypted() async throws {
        let phone = try await device("ida", keyStore: cloud.keyStore)
        try await phone.own.save(CKRecordZone(zoneID: trips))
        let secrets = [[0x53, 0x56, 0x31, 0], [0x53, 0x56, 0x31, 1], [0x53, 0x56, 0x31]].map {
            Data($0 + Array("Grossglockner".utf8))
        }
        for secret in secrets {
            let record = hut(UUID().uuidString)
            record.encryptedValues["blob"] = secret
            let archived = try #require(
                try NSKeyedUnarchiver.unarchivedObject(
                    ofClass: CKRecord.self,
                    from: try NSKeyedArchiver.archivedData(
                        withRootObject: record, requiringSecureCoding: true)))
            let snapshot = try RecordSnapshot(archived)
            #expect(try archived.edit().changes == snapshot.fields)
            let cached = try snapshot.record(changedSince: nil)
            #expect(cached.encryptedValues["blob"] == secret)
            let modifications = Kept<RecordsModify.Request>()
            phone.transport.tap {
                $0.request = {
                    if let request = $0 as? RecordsModify.Request { modifications.add(request) }
                }
            }
            try await phone.own.save(cached)
            let sent = try modifications.all.flatMap(\.operations).flatMap {
                try $0.record.fields.values()
            }
            #expect(sent.contains { $0.name == "blob" })
            for field in sent {
                guard case .bytes(let bytes) = field.value else { continue }
                #expect(Data(bytes).range(of: Data("Grossglockner".utf8)) == nil)
            }
            let read = try await device("ida", keyStore: cloud.keyStore).own.record(
                for: record.recordID)
            #expect(read.encryptedValues["blob"] == secret)
        }
    }

    /// What a device cannot read it keeps, in its archives and caches too.
    @Test func unreadableValueStaysSealedInArchives() async throws {
        let phone = try await device("ida", keyStore: cloud.keyStore)
        _ = try await share(by: phone)
        let tablet = try await device("ida")
        let record = try await tablet.own.record(for: hut("diary-0").recordID)
        let archived = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: record, requiringSecureCoding: true)))
        let cached = try RecordSnapshot(archived).record()
        #expect(cached.encryptedValues["diary"] == nil)
        cached["name"] = "Gipfel"
        let saved = try await tablet.own.modifyRecords(
            saving: [cached], deleting: [], savePolicy: .allKeys)
        _ = try saved.saveResults[record.recordID]?.get()
        let read = try await phone.own.record(for: record.recordID)
        #expect(read["name"] == "Gipfel")
        #expect(read.encryptedValues["diary"] == "We met a marmot.")
    }
}

@Sendable private func isKeyringLookup(_ request: any Sendable) -> Bool {
    (request as? RecordsLookup.Request)?.records.first?.recordName == CloudKeyring.recordName
}
