import Foundation
import StratusCache
import StratusClient
import StratusTesting
import Testing

@testable import ShoppingCore

/// Alice's list, on her phone and tablet and with other people.
@Suite(.timeLimit(.minutes(20)))
struct SharingTests {
    private let world: ShoppingWorld

    init() throws { world = try ShoppingWorld() }

    /// The changes that were reported until now; closes the store.
    private func notified(
        _ changes: AsyncStream<ShoppingChange>, _ store: ShoppingStore
    ) async throws -> [String] {
        try await store.close()
        var sentences: [String] = []
        for await change in changes { sentences.append(change.sentence) }
        return sentences
    }

    /// The reason why an action on a share is refused.
    private func reason<Outcome>(
        of step: () async throws -> Outcome
    ) async -> SharingRefused.Reason? {
        await #expect(throws: SharingRefused.self) { _ = try await step() }?.reason
    }

    @Test func sharedListSyncsInBothDirections() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        #expect(his.name == own.name && !his.isOwn && his != own)
        #expect(await bobs.list(his)?.title == "Groceries")
        let names = await bobs.list(his)?.items.map(\.name)
        #expect(names == ["Milk", "Bread"])
        let milk = try #require(await bobs.list(his)?.items.first?.id)
        try await bobs.perform(
            [.tick(itemID: milk), .add(names: ["Eggs"], afterItemID: milk)], in: his)
        try await bobs.sync()
        try await phone.sync()
        #expect(await phone.list(own)?.items.map(\.id) == bobs.list(his)?.items.map(\.id))
        #expect(await phone.list(own)?.items.map(\.name) == ["Milk", "Eggs", "Bread"])
        #expect(await phone.list(own)?.items.first?.isTicked == true)
        let people = try #require(await phone.sharing(of: own)).people
        #expect(people.map(\.isOwner) == [true, false])
        #expect(people.map(\.standing) == [.joined, .joined])
        #expect(people.last?.mayWrite == true)
    }

    /// Bob has a list of his own with the name of Alice's: the two are kept apart.
    @Test func ownAndSharedListWithOneNameAreKeptApart() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        let zone = CKRecordZone(zoneID: own.zoneID)
        let database = try await world.container("web", user: world.bob).privateCloudDatabase
        try await database.save(zone)
        let root = CKRecord(
            recordType: ShoppingRecord.shoppingListType,
            recordID: CKRecord.ID(recordName: own.name, zoneID: zone.zoneID))
        root[ShoppingRecord.titleField] = "Bob's own"
        try await database.save(root)
        try await bobs.sync()
        #expect(await bobs.lists.map(\.title) == ["Bob's own", "Groceries"])
        #expect(Set(await bobs.lists.map(\.id)) == [own, his])
        try await bobs.perform([.add(names: ["Secret"], afterItemID: nil)], in: own)
        try await bobs.sync()
        try await phone.sync()
        #expect(await phone.list(own)?.items.map(\.name) == ["Milk", "Bread"])
    }

    @Test func sharingIsRefusedWithoutAccountAndTwice() async throws {
        let nobody = try await world.open("nobody", user: nil)
        let local = try await nobody.create(title: "Local")
        #expect(await reason { try await nobody.share(local) } == .noAccount)
        let (phone, bobs, own, his) = try await world.joined()
        #expect(await reason { try await phone.share(own) } == .sharedAlready)
        #expect(await reason { try await bobs.share(his) } == .notOwner)
        #expect(
            await reason { try await bobs.invite(["cy@example.org"], to: his) } == .notOwner)
    }

    @Test func joiningAListOnTheDeviceIsRefused() async throws {
        let (phone, bobs, own, _) = try await world.joined()
        let link = try #require(await phone.sharing(of: own)?.link)
        for store in [phone, bobs] {
            let refusal = await #expect(throws: SharingRefused.self) { try await store.join(link) }
            #expect(refusal?.description == "Groceries is on this device already; open it.")
        }
    }

    /// If another device created the share, or sharing was interrupted, the remaining steps are carried out.
    @Test func sharingIsRepeatable() async throws {
        let phone = try await world.open("phone", user: world.alice)
        let tablet = try await world.open("tablet", user: world.alice)
        let weekly = try await world.share("Groceries", ["Milk"], phone, tablet)
        let first = try await phone.share(weekly)
        let second = try await tablet.share(weekly)
        #expect(first.link != nil && second.link == first.link)
        try await phone.invite([world.bob], to: weekly)
        #expect(try await phone.invite([world.bob], to: weekly).others.count == 1)
    }

    @Test func eachEndOfSharingHasItsOwnSentence() async throws {
        var sentences: [String] = []
        for end in 0..<4 {
            let (phone, bobs, own, his) = try await ShoppingWorld().joined()
            let changes = await bobs.changes()
            switch end {
            case 0:
                let cy = try await phone.invite(["cy@example.org"], to: own)
                let him = try #require(cy.people.first { !$0.isOwner && $0.standing == .joined })
                try await phone.remove(him.id, from: own)
            case 1: try await bobs.leave(his)
            case 2: try await phone.stopSharing(own)
            default: try await phone.delete(own)
            }
            try await phone.sync()
            try await bobs.sync()
            #expect(await bobs.lists.isEmpty)
            sentences += try await notified(changes, bobs)
            if end < 3 {
                #expect(await phone.list(own)?.items.map(\.name) == ["Milk", "Bread"])
            }
        }
        try #require(sentences.count == 4)
        #expect(sentences[0].hasPrefix("you were removed from Groceries"))
        #expect(sentences[1] == "you left Groceries; its link brings it back")
        #expect(sentences[2].hasSuffix("stopped sharing Groceries"))
        #expect(
            sentences[3].hasSuffix("deleted Groceries") && sentences[3] != "you deleted Groceries")
    }

    @Test func participantWhoLeftRejoinsByTheSameLink() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        let link = try #require(await phone.sharing(of: own)?.link)
        try await phone.invite(["cy@example.org"], to: own)
        try await bobs.leave(his)
        try await bobs.sync()
        try await phone.sync()
        #expect(try await bobs.join(link) == his)
        #expect(await bobs.list(his)?.items.map(\.name) == ["Milk", "Bread"])
    }

    @Test func joinsAndLeavesAreNotifiedAfterRestart() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        try await phone.invite(["cy@example.org"], to: own)
        try await phone.close()
        try await bobs.leave(his)
        try await bobs.sync()
        let again = try await world.open("phone", user: world.alice)
        let changes = await again.changes()
        try await again.sync()
        #expect(
            try await again.activity(of: own).map(\.action.rawValue).suffix(2) == [
                "joined", "left",
            ])
        let sentences = try await notified(changes, again)
        #expect(sentences.contains { $0.hasSuffix("left Groceries") })
    }

    @Test func departureOfTheLastParticipantEndsSharing() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        try await bobs.leave(his)
        try await bobs.sync()
        try await phone.sync()
        try await phone.sync()
        #expect(await phone.sharing(of: own) == nil)
        #expect(await phone.list(own)?.items.map(\.name) == ["Milk", "Bread"])
        // It can be shared again.
        #expect(try await phone.share(own).link != nil)
    }

    @Test func publicLinkAdmitsEveryUserAndRequestsAreApproved() async throws {
        let phone = try await world.open("phone", user: world.alice)
        let bobs = try await world.open("bobs", user: world.bob)
        let weekly = try await phone.create(title: "Groceries")
        let closed = try #require(try await phone.share(weekly).link)
        #expect(await reason { try await bobs.join(closed) } == .notInvited)
        #expect(await reason { try await bobs.askToJoin(closed) } == .noRequests)
        let link = try #require(
            try await phone.setLink(.invitedOnly, takesRequests: true, of: weekly).link)
        try await bobs.askToJoin(link)
        try await phone.sync()
        #expect(await phone.sharing(of: weekly)?.requests.count == 1)
        try await phone.answerRequests(of: weekly, approving: true)
        let his = try await bobs.join(link)
        #expect(await bobs.list(his)?.title == "Groceries")
        let other = try await phone.create(title: "Party")
        try await phone.share(other)
        let open = try await phone.setLink(.write, takesRequests: false, of: other)
        let party = try await bobs.join(try #require(open.link))
        #expect(await bobs.list(party)?.title == "Party")
    }

    /// A change's author is the record's creator, not the name in the entry.
    @Test func authorIsTheRecordsCreator() async throws {
        let (phone, bobs, own, his) = try await world.joined()
        let liar = ListJournalWriter(listID: his.name, device: "phone", author: "Alice")
        let entry = liar.add("Caviar", itemID: "caviar", after: nil, id: "lie", at: world.now())
        let record = CKRecord(
            recordType: ShoppingRecord.journalEntryType,
            recordID: CKRecord.ID(recordName: entry.id, zoneID: his.zoneID))
        for (name, field) in entry.fields {
            switch field {
            case .string(let text): record[name] = text
            case .int64(let number): record[name] = number
            case .date(let time): record[name] = Date(timeIntervalSince1970: Double(time) / 1_000)
            }
        }
        record.setParent(his.rootID)
        try await world.container("web", user: world.bob).sharedCloudDatabase.save(record)
        try await phone.sync()
        let name = try #require(await phone.sharing(of: own)?.people.last?.name)
        #expect(await phone.list(own)?.items.first { $0.id == "caviar" }?.addedBy == name)
        #expect(name != "Alice")
        try await bobs.close()
    }

    /// Why participants of a list are notified by their app alone (decision 30).
    @Test func participantCannotSubscribeToEntriesOfSharedList() async throws {
        let (_, _, own, his) = try await world.joined()
        func subscription(_ listID: ListID) -> CKQuerySubscription {
            let made = CKQuerySubscription(
                recordType: ShoppingRecord.journalEntryType, predicate: NSPredicate(value: true),
                subscriptionID: "adds", options: .firesOnRecordCreation)
            made.zoneID = listID.zoneID
            let information = CKSubscription.NotificationInfo()
            information.alertLocalizationKey = "%1$@ added"
            information.alertLocalizationArgs = ["value"]
            made.notificationInfo = information
            return made
        }
        let bobs = try await world.container("web", user: world.bob).sharedCloudDatabase
        await #expect(throws: CKError.self) { try await bobs.save(subscription(his)) }
        // The owner's private database accepts it.
        let alices = try await world.container("web", user: world.alice).privateCloudDatabase
        _ = try await alices.save(subscription(own))
    }

    /// Alice and Bob are both called Sam, and their phones "phone": names do not identify a device.
    @Test func peopleAndDevicesWithOneNameAreKeptApart() async throws {
        for person in [world.alice, world.bob] {
            _ = try await world.cloud.service.accounts.createUser(
                emailAddress: person, password: "correct horse battery staple",
                givenName: "Sam", familyName: "", isEmailVerified: true)
        }
        let phone = try await world.open("alices", user: world.alice, name: "phone")
        let bobs = try await world.open("bobs", user: world.bob, name: "phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        try await phone.share(weekly)
        let link = try #require(try await phone.invite([world.bob], to: weekly).link)
        let his = try await bobs.join(link)
        try await phone.sync()
        try await phone.choose(NotificationChoice(tellsAdds: true))
        var screen = try #require(try await phone.screen(of: weekly))
        screen.enter(.shopping)
        let changes = await phone.changes()
        try await bobs.perform([.add(names: ["Eggs"], afterItemID: nil)], in: his)
        // Nor does what an entry claims about its device.
        let liar = ListJournalWriter(
            listID: his.name, device: "phone", deviceID: phone.deviceID, author: "Sam")
        let lie = liar.add("Caviar", itemID: "caviar", after: nil, id: "lie", at: world.now())
        try await world.container("web", user: world.bob).sharedCloudDatabase.save(
            lie.record(in: his))
        try await bobs.sync()
        try await phone.sync()
        screen.receive(try #require(await phone.list(weekly)))
        #expect(screen.rows.map(\.item.name) == ["Milk"])
        #expect(Set(screen.notices.map(\.name)) == ["Eggs", "Caviar"])
        var notified: Set<String> = []
        for await change in changes where change.itemID != nil {
            notified.insert(try #require(await phone.notification(of: change)))
            if notified.count == 2 { break }
        }
        #expect(
            notified == [
                "Groceries: Caviar added by Sam on phone", "Groceries: Eggs added by Sam on phone",
            ])
        try await phone.close()
        // An item that Alice adds herself is shown at once, also after a restart.
        let again = try await world.open("alices", user: world.alice, name: "phone")
        #expect(again.deviceID == phone.deviceID && again.deviceID != bobs.deviceID)
        try await again.perform([.add(names: ["Tea"], afterItemID: nil)], in: weekly)
        screen.receive(try #require(await again.list(weekly)))
        #expect(screen.rows.map(\.item.name) == ["Tea", "Milk"])
        for store in [again, bobs] { try await store.close() }
    }

    /// Records of an app of format 1 have no parent, and would not belong to the share.
    @Test func entriesOfFormatOneAreSavedAgainWithParent() async throws {
        let database = try await world.container("web", user: world.alice).privateCloudDatabase
        let weekly = ListID("old")
        try await database.save(CKRecordZone(zoneID: weekly.zoneID))
        let root = CKRecord(recordType: ShoppingRecord.shoppingListType, recordID: weekly.rootID)
        root["title"] = "Old list"
        let writer = ListJournalWriter(
            listID: "old", device: "phone", author: "alice", appVersion: 1)
        let entries = [
            writer.create(title: "Old list", id: "c", at: 1_690_000_000_000),
            writer.add("Milk", itemID: "m", after: nil, id: "a", at: 1_690_000_000_001),
        ]
        let records = entries.map { entry in
            let record = CKRecord(
                recordType: "JournalEntry",
                recordID: CKRecord.ID(recordName: entry.id, zoneID: weekly.zoneID))
            record["listID"] = "old"
            record["action"] = entry.action.rawValue
            record["itemID"] = entry.itemID
            record["value"] = entry.value
            record["editTime"] = Date(
                timeIntervalSince1970: Double(entry.editTimeMilliseconds) / 1_000)
            record["device"] = "phone"
            record["author"] = "alice"
            record["appVersion"] = 1
            return record
        }
        let saved = try await database.modifyRecords(saving: [root] + records, deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        let phone = try await world.open("phone", user: world.alice)
        try await phone.sync()
        #expect(await phone.list(weekly)?.items.map(\.name) == ["Milk"])
        try await phone.sync()
        #expect(try await phone.status().pendingCount == 0)
        let entry = try await database.record(for: records[1].recordID)
        #expect(entry.parent?.recordID.recordName == "old")
        try await phone.share(weekly)
        let link = try #require(try await phone.invite([world.bob], to: weekly).link)
        let bobs = try await world.open("bobs", user: world.bob)
        let his = try await bobs.join(link)
        #expect(await bobs.list(his)?.items.map(\.name) == ["Milk"])
        #expect(await !phone.needsNewerApp)
    }

    @Test func changesOfOthersAreNotifiedIfChosen() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone", user: "alice@example.org")
        let tablet = try await world.open("tablet", user: "alice@example.org")
        let bobs = try await world.open("bobs", user: "bob@example.org")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.share(weekly)
        let link = try #require(try await phone.invite(["bob@example.org"], to: weekly).link)
        let his = try await bobs.join(link)
        try await tablet.sync()
        try await phone.sync()
        var changes = await phone.changes().makeAsyncIterator()
        /// The notification that the phone shows for the next change of an item.
        func notification() async throws -> String? {
            while let change = await changes.next() {
                if change.itemID != nil { return await phone.notification(of: change) }
            }
            return nil
        }
        for (choice, text) in [
            (NotificationChoice(), nil), (NotificationChoice(tellsTicks: true), nil),
            (NotificationChoice(tellsAdds: true), "Groceries: Milk added by"),
        ] as [(NotificationChoice, String?)] {
            try await phone.choose(choice)
            try await bobs.perform([.add(names: ["Milk"], afterItemID: nil)], in: his)
            try await bobs.sync()
            try await phone.sync()
            let notified = try await notification()
            #expect(text == nil ? notified == nil : notified?.hasPrefix(text ?? "") == true)
        }
        // Changes from one's own other device cause no notification.
        try await tablet.sync()
        try await tablet.perform([.add(names: ["Eggs"], afterItemID: nil)], in: weekly)
        try await tablet.sync()
        try await phone.sync()
        #expect(try await notification() == nil)
        for store in [phone, tablet, bobs] { try await store.close() }
    }
}
