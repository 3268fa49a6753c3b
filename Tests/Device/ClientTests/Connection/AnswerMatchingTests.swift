import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// An answer about another item than the requested one fails the item, and none of it is used.
@Suite struct AnswerMatchingTests {
    private let cloud = TestCloud()

    private struct Device {
        var container: CKContainer
        var transport: TappedTransport
        var own: CKDatabase { container.privateCloudDatabase }

        /// Changes later answers of one type.
        func tamper<Answer: Sendable>(_ change: @escaping @Sendable (Answer) -> Answer) {
            transport.tap {
                $0.answer = { _, answer in
                    (answer as? Answer).map { change($0) } ?? answer
                }
            }
        }
    }

    private func device(_ name: String = "phone") async throws -> Device {
        let link = try await cloud.connect(user: "ida", device: name)
        let transport = TappedTransport(link.transport)
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, keyStore: cloud.keyStore)
        return Device(
            container: CKContainer(identifier: Trip.identifier, connection: connection),
            transport: transport)
    }

    /// A device whose service has the huts `a` and `b` in a custom zone.
    private func deviceWithHuts() async throws -> Device {
        let phone = try await device()
        try await phone.own.save(CKRecordZone(zoneID: trips))
        for name in ["a", "b"] {
            let record = hut(name)
            record["name"] = "Hut \(name)"
            record.encryptedValues["diary"] = "Secret of \(name)."
            try await phone.own.save(record)
        }
        return phone
    }

    private static func renamed(
        _ result: RecordResult, _ change: (inout RecordDictionary) -> Void
    ) -> RecordResult {
        guard case .record(var record) = result else { return result }
        change(&record)
        return .record(record)
    }

    private func expectMismatch(
        _ comment: Comment? = nil, _ body: () async throws -> some Any
    ) async {
        await #expect(throws: CKError(.internalError), comment) { _ = try await body() }
    }

    // MARK: Records

    @Test func lookupOfAnotherRecordFails() async throws {
        let phone = try await deviceWithHuts()
        let changes: [(String, @Sendable (inout RecordDictionary) -> Void)] = [
            ("name", { $0.recordName = "b" }),
            ("zone", { $0.zoneID?.zoneName = "Others" }),
            ("owner", { $0.zoneID?.ownerRecordName = "_mallory" }),
        ]
        _ = try await phone.container.userRecordID()
        for (part, change) in changes {
            phone.tamper { (answer: RecordsLookup.Answer) in
                RecordsLookup.Answer(records: answer.records.map { Self.renamed($0, change) })
            }
            await expectMismatch("\(part)") { try await phone.own.record(for: hut("a").recordID) }
        }
        // Answers must be in the order of the request.
        phone.tamper { (answer: RecordsLookup.Answer) in
            RecordsLookup.Answer(records: answer.records.reversed())
        }
        let ids = [hut("a").recordID, hut("b").recordID]
        let found = try await phone.own.records(for: ids)
        for id in ids { #expect((found[id]?.failure as? CKError)?.code == .internalError) }
    }

    @Test func tombstoneOfAnotherRecordConfirmsNoDeletion() async throws {
        let phone = try await deviceWithHuts()
        phone.tamper { (answer: RecordsLookup.Answer) in
            RecordsLookup.Answer(
                records: answer.records.map { _ in .deleted(.init(recordName: "b")) })
        }
        await expectMismatch { try await phone.own.deleteRecord(withID: hut("a").recordID) }
        // A failure of another record does not confirm the deletion either.
        phone.tamper { (answer: RecordsLookup.Answer) in
            RecordsLookup.Answer(
                records: answer.records.map { _ in
                    refused("b", ServiceError(.notFound, "There is none."))
                })
        }
        await expectMismatch { try await phone.own.deleteRecord(withID: hut("a").recordID) }
    }

    @Test func saveAnsweredWithAnotherRecordFails() async throws {
        let phone = try await deviceWithHuts()
        let changes: [@Sendable (inout RecordDictionary) -> Void] = [
            { $0.recordName = "b" }, { $0.zoneID?.zoneName = "Others" },
            { $0.recordType = "Trail" },
        ]
        for change in changes {
            phone.transport.tap { $0.answer = { $1 } }
            let record = try await phone.own.record(for: hut("a").recordID)
            let tag = record.recordChangeTag
            phone.tamper { (answer: RecordsLookup.Answer) in
                RecordsLookup.Answer(records: answer.records.map { Self.renamed($0, change) })
            }
            record["beds"] = 4
            await expectMismatch { try await phone.own.save(record) }
            #expect(record.recordChangeTag == tag && record.changedKeys() == ["beds"])
        }
    }

    @Test func conflictAnsweredWithAnotherRecordIsNoConflict() async throws {
        let phone = try await deviceWithHuts()
        let tablet = try await device("tablet")
        let mine = try await phone.own.record(for: hut("a").recordID)
        let other = try await tablet.own.record(for: hut("a").recordID)
        other["beds"] = 3
        try await tablet.own.save(other)
        guard case .record(let b) = try await lookup("b", phone) else {
            Issue.record("There is no b.")
            return
        }
        for part in ["server", "ancestor"] {
            phone.tamper { (answer: RecordsLookup.Answer) in
                RecordsLookup.Answer(
                    records: answer.records.map { result in
                        guard case .failure(var failure) = result else { return result }
                        if part == "server" { failure.serverRecord = b }
                        if part == "ancestor" { failure.ancestorRecord = b }
                        return .failure(failure)
                    })
            }
            mine["beds"] = 4
            let outcome = try await phone.own.modifyRecords(
                saving: [mine], deleting: [], atomically: false)
            let error = outcome.saveResults[mine.recordID]?.failure as? CKError
            #expect(error?.code == .internalError, "\(part)")
            #expect(error?.conflicts.isEmpty == true, "\(part)")
        }
        // The service leaves the record out of the conflict; the client fetches it and gets another one.
        phone.tamper { (answer: RecordsLookup.Answer) in
            RecordsLookup.Answer(
                records: answer.records.map { result in
                    guard case .failure(var failure) = result else { return .record(b) }
                    failure.serverRecord = nil
                    return .failure(failure)
                })
        }
        let outcome = try await phone.own.modifyRecords(
            saving: [mine], deleting: [], atomically: false)
        let error = outcome.saveResults[mine.recordID]?.failure as? CKError
        #expect(error?.code == .internalError && error?.conflicts.isEmpty == true)
    }

    private func lookup(_ name: String, _ device: Device) async throws -> RecordResult? {
        let seen = Kept<RecordResult>()
        device.tamper { (answer: RecordsLookup.Answer) in
            answer.records.forEach { seen.add($0) }
            return answer
        }
        _ = try await device.own.record(for: hut(name).recordID)
        return seen.all.last
    }

    @Test func changesAndQueriesOfAnotherZoneFail() async throws {
        let phone = try await deviceWithHuts()
        phone.tamper { (answer: ChangesZone.Answer) in
            ChangesZone.Answer(
                answer.items.changed { page in
                    page.records = page.records.map { result in
                        Self.renamed(result) { $0.zoneID?.zoneName = "Others" }
                    }
                })
        }
        await expectMismatch("record") {
            try await phone.own.recordZoneChanges(inZoneWith: trips, since: nil)
        }
        phone.tamper { (answer: ChangesZone.Answer) in
            ChangesZone.Answer(
                answer.items.changed { page in
                    page.zoneID.zoneName = "Others"
                    page.records = []
                })
        }
        await expectMismatch("page") {
            try await phone.own.recordZoneChanges(inZoneWith: trips, since: nil)
        }
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        let changes: [@Sendable (inout RecordDictionary) -> Void] = [
            { $0.zoneID?.zoneName = "Others" }, { $0.recordType = "Trail" },
        ]
        for change in changes {
            phone.tamper { (answer: RecordsQuery.Answer) in
                var answer = answer
                answer.records = answer.records.map { Self.renamed($0, change) }
                return answer
            }
            let page = try await phone.own.records(matching: query, inZoneWith: trips)
            #expect(page.matchResults.count == 2)
            for (_, match) in page.matchResults {
                #expect((match.failure as? CKError)?.code == .internalError)
            }
        }
    }

    // MARK: Zones and subscriptions

    @Test func zoneAnsweredWithAnotherFails() async throws {
        let phone = try await deviceWithHuts()
        phone.tamper { (answer: ZonesList.Answer) in
            ZonesList.Answer(answer.items.changed { $0.zoneID.zoneName = "Others" })
        }
        await expectMismatch { try await phone.own.recordZone(for: trips) }
        await expectMismatch {
            try await phone.own.save(CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "New")))
        }
        await expectMismatch { try await phone.own.deleteRecordZone(withID: trips) }
    }

    @Test func subscriptionAnsweredWithAnotherFails() async throws {
        let phone = try await deviceWithHuts()
        let subscription = CKDatabaseSubscription(subscriptionID: "mine")
        try await phone.own.save(subscription)
        @Sendable func rename(_ result: SubscriptionResult) -> SubscriptionResult {
            switch result {
            case .subscription(var dictionary):
                dictionary.subscriptionID = "other"
                return .subscription(dictionary)
            case .deleted: return .deleted(subscriptionID: "other")
            case .failure: return result
            }
        }
        phone.tamper { (answer: SubscriptionsModify.Answer) in
            SubscriptionsModify.Answer(answer.items.map(rename))
        }
        await expectMismatch { try await phone.own.save(subscription) }
        await expectMismatch { try await phone.own.subscription(for: "mine") }
        await expectMismatch { try await phone.own.deleteSubscription(withID: "mine") }
    }

    // MARK: Links and people

    @Test func linkAnsweredWithAnotherFails() async throws {
        let phone = try await deviceWithHuts()
        let share = CKShare(recordZoneID: trips)
        share.publicPermission = .readOnly
        try await phone.own.save(share)
        let link = try #require(share.url)
        let changes: [@Sendable (inout ShareMetadataDictionary) -> Void] = [
            { $0.shortGUID.value = "0other" },
            { $0.share?.zoneID?.zoneName = "Others" },
            {
                $0.rootRecordName = "a";
                $0.rootRecord = RecordDictionary(
                    recordName: "b", recordType: "Hut", zoneID: $0.zoneID)
            },
            { $0.containerIdentifier = "iCloud.org.example.Other" },
        ]
        for change in changes {
            phone.tamper { (answer: RecordsResolve.Answer) in
                RecordsResolve.Answer(
                    answer.items.map { item in
                        item.map { found in
                            var found = found
                            change(&found)
                            return found
                        }
                    })
            }
            await expectMismatch { try await phone.container.shareMetadata(for: link) }
        }
    }

    @Test func identityAnsweredWithAnotherFails() async throws {
        let phone = try await deviceWithHuts()
        let me = try await phone.container.userRecordID()
        let changes: [@Sendable (inout UserIdentityDictionary) -> Void] = [
            { $0.lookupInfo = UserLookupInfo(userRecordName: "_mallory") },
            { $0.userRecordName = "_mallory" },
        ]
        for change in changes {
            phone.tamper { (answer: UsersDiscover.Answer) in
                UsersDiscover.Answer(
                    answer.items.map { identity in
                        var identity = identity
                        change(&identity)
                        return identity
                    })
            }
            await expectMismatch {
                try await phone.container.shareParticipant(forUserRecordID: me)
            }
        }
    }
}
