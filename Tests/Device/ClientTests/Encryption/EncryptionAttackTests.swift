import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// What a hostile service can do to encrypted values, even with an owner's help: only withhold them. See decision 10.
@Suite struct EncryptionAttackTests: EncryptionFixture {
    let cloud = TestCloud()
    let uptimeSeconds = StandingClock()

    // MARK: Links

    @Test func forgedLinkDoesNotReplaceZoneKey() async throws {
        let (ida, ben) = (try await device("ida"), try await device("ben"))
        let link = try await share(by: ida)
        #expect(try await ben.join(link).url == link)
        let mallorys = AccountKey().zoneKey(owner: "mallory", zoneName: "Trips")
        let forged = ShareLinkKey.link(link, with: mallorys)
        // Ben's share still has Ida's link.
        #expect(try await ben.join(forged).url == link)
        try await expectTrust(ben, ida)
    }

    /// The service answers Cy's link with Ida's share.
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

        // Ida loses her key and creates a new one, so her link contains another key.
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
        // Ben's other device looks for the new key when it cannot read a value.
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

    /// The creator of a link may be another person than the owner of the zone that the service returns.
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

    /// The service hides the keyring with the known zone keys, so that the device would accept another key.
    @Test func hiddenKeyringDoesNotReplaceZoneKey() async throws {
        let ida = try await device("ida")
        let keys = MemoryKeyStore()
        let link = try await share(by: ida)
        let earlier = try await device("ben", keyStore: keys)
        try await earlier.own.save(CKRecordZone(zoneID: trips))
        try await earlier.own.save(diary("his", "Mine."))
        _ = try await device("ben", keyStore: keys).join(link)

        // One process read the keyring before it contained Ida's key, and one has just started.
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

    /// A service that returns no keyring and accepts every save of one.
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

    // MARK: Crafted values

    /// Bytes that begin like a sealed value are encrypted like any other value.
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

    /// A value that a device cannot read stays sealed, in archives and caches too.
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
