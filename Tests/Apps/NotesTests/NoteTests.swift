import CloudKit
import NotesCore
import StratusTesting
import StratusWire
import Testing

/// One note on one person's devices, at a service that works as it should.
@Suite(.timeLimit(.minutes(20)))
struct NoteTests {
    private let recordID = CKRecord.ID(
        recordName: "note", zoneID: CKRecordZone(zoneName: "note-zone").zoneID)

    @Test func textIsSavedAsAsset() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("Buy milk.\nCall Ida.")
        let record = try await phone.container.privateCloudDatabase.record(for: recordID)
        #expect(record.recordType == "note" && record["version"] as? Int == 1)
        #expect(record["text"] is CKAsset)
        let modified = try #require(record["modified"] as? Date)
        // The time when it was typed, not when it was saved.
        #expect(modified == TestClock().now)
        let tablet = try await world.open("tablet")
        #expect(await tablet.text == "Buy milk.\nCall Ida.")
        #expect(await tablet.app.copy.modified == modified)
        #expect(await tablet.status.lines == ["In the cloud."])
        // The asset's file is removed after the upload.
        #expect(try FileManager.default.contentsOfDirectory(atPath: phone.path).count == 1)
    }

    @Test func typingIsCoalesced() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("T")
        let saves = world.count(RecordsModify.self)
        for text in ["Th", "The", "The m", "The mil", "The milk"] {
            try await phone.app.type(text)
            #expect(await phone.status.step == .waiting)
        }
        await phone.typingPauses()
        await phone.until { $0 == .saved }
        #expect(saves.end() == 1)
        #expect(try await world.open("tablet").text == "The milk")
        // The next key starts the timer again.
        try await phone.app.type("The milk.")
        await phone.typingPauses()
        await phone.until { $0 == .saved }
        #expect(try await world.open("laptop").text == "The milk.")
    }

    @Test func typingDuringSaveIsSentLater() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("one")
        let record = try await phone.container.privateCloudDatabase.record(for: recordID)
        // Another device saves first, so the save takes two attempts, with an edit between them.
        record["modified"] = Date(timeIntervalSince1970: 1)
        _ = try await phone.container.privateCloudDatabase.save(record)
        try await phone.app.type("two")
        // The service is processing the save of the earlier text.
        world.cloud.faults.next(of: RecordsModify.self, .delay(seconds: 0.5))
        let syncing = Task { await phone.app.sync() }
        try await world.faultsAreMet()
        try await phone.app.type("three")
        await syncing.value
        #expect(await phone.text == "three")
        await phone.app.sync()
        #expect(await phone.status.step == .saved)
        #expect(try await world.open("tablet").text == "three")
    }

    @Test func zoneIsCreatedAtTheFirstSave() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        let database = phone.container.privateCloudDatabase
        #expect(try await !database.allRecordZones().contains { $0.zoneID == recordID.zoneID })
        #expect(await phone.status.lines == ["On this device."])
        try await phone.save("first")
        #expect(try await database.allRecordZones().contains { $0.zoneID == recordID.zoneID })
    }

    @Test func silentSubscriptionIsSavedOnce() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        let saves = world.count(SubscriptionsModify.self)
        try await phone.save("first")
        let database = phone.container.privateCloudDatabase
        try await phone.subscribed()
        let subscriptions = try await database.allSubscriptions()
        let subscription = try #require(subscriptions.first as? CKQuerySubscription)
        #expect(subscriptions.count == 1 && subscription.recordType == "note")
        #expect(subscription.predicate.description == "TRUEPREDICATE")
        #expect(
            subscription.querySubscriptionOptions == [
                .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
            ])
        let information = try #require(subscription.notificationInfo)
        #expect(information.shouldSendContentAvailable && information.alertBody == nil)
        #expect(!information.shouldBadge && information.soundName == nil)
        try await phone.save("second")
        await phone.app.close()
        let again = try await world.open("phone")
        try await again.save("third")
        #expect(saves.end() == 1)
    }

    @Test func silentPushFetchesNote() async throws {
        let world = try NotesWorld()
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        try await phone.save("one")
        try await phone.subscribed()
        let listening = Task { await tablet.app.listen() }
        defer { listening.cancel() }
        await tablet.wait { $0 == .textChanged("one") }
        try await phone.save("two")
        await tablet.wait { $0 == .textChanged("two") }
        // A dropped push is made up for by the next one.
        world.cloud.faults.dropNotifications(1)
        try await phone.save("three")
        try await phone.save("four")
        await tablet.wait { $0 == .textChanged("four") }
        #expect(world.cloud.faults.remaining.isEmpty)
    }

    @Test func pushOfAnotherSubscriptionStartsNoFetch() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("one")
        func push(_ id: String) -> [AnyHashable: Any] {
            ["ck": ["cid": NotesWorld.container, "nid": "1", "qry": ["sid": id, "fo": 2]]]
        }
        let fetches = world.count(ChangesZone.self)
        #expect(await phone.app.didReceiveRemoteNotification(push("another")) == .noData)
        #expect(fetches.end() == 0)
        let more = world.count(ChangesZone.self)
        _ = await phone.app.didReceiveRemoteNotification(push("note-changes"))
        _ = await phone.app.didReceiveRemoteNotification(push("note-changes"))
        #expect(more.end() > 0)
    }

    @Test func changeTokenIsKeptOverRestart() async throws {
        let world = try NotesWorld()
        let (phone, first) = (try await world.open("phone"), try await world.open("tablet"))
        try await phone.save("one")
        await first.app.sync()
        await first.app.sync()
        await first.app.close()
        try await phone.save("two")
        // Only a request with a token gets this fault, after which everything is fetched.
        world.cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        let counted = world.cloud.faults.remaining.count
        let tablet = try await world.open("tablet")
        #expect(counted == 1 && world.cloud.faults.remaining.isEmpty)
        #expect(await tablet.text == "two")
        #expect(await tablet.status.error == nil)
        // Nothing changed, so there is no data.
        let userInfo: [AnyHashable: Any] = [
            "ck": [
                "cid": NotesWorld.container, "nid": "1", "qry": ["sid": "note-changes", "fo": 2],
            ]
        ]
        #expect(await tablet.app.didReceiveRemoteNotification(userInfo) == .noData)
        #expect(await tablet.app.didReceiveRemoteNotification(userInfo) == .noData)
    }
}

extension NoteController.Event {
    func isStep(_ step: NoteStatus.Step) -> Bool {
        if case .statusChanged(let status) = self { status.step == step } else { false }
    }
}

extension NoteDevice {
    /// Waits until the service has the subscription, which the app does not wait for.
    func subscribed() async throws {
        while try await container.privateCloudDatabase.allSubscriptions().isEmpty {
            await Task.yield()
        }
    }
}
