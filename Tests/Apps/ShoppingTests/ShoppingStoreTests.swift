import Foundation
import ShoppingCore
import StratusCache
import StratusClient
import Testing

/// The lists of one account on several devices, over the real service in this process.
@Suite(.timeLimit(.minutes(20)))
struct ShoppingStoreTests {
    private let world: ShoppingWorld

    init() throws { world = try ShoppingWorld() }

    @Test func createdListAppearsOnOtherDevice() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        var received = await tablet.changes().makeAsyncIterator()
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk", "Bread"], afterItemID: nil)], in: weekly)
        try await phone.sync()
        try await tablet.sync()
        #expect(await tablet.lists.map(\.title) == ["Groceries"])
        #expect(await tablet.list(weekly) == phone.list(weekly))
        #expect(await tablet.list(weekly)?.items.map(\.name) == ["Milk", "Bread"])
        let change = await received.next()
        #expect(change?.sentence == "list Groceries appeared")
    }

    @Test func changesAreReportedInOrderOnce() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk", "Bread"], phone, tablet)
        let changes = await tablet.changes()
        let ids = await phone.list(weekly)?.items.map(\.id) ?? []
        try await phone.perform(
            [
                .add(names: ["Eggs"], afterItemID: ids[1]), .tick(itemID: ids[0]),
                .rename(itemID: ids[1], name: "Rye bread"), .untick(itemID: ids[0]),
                .move(itemID: ids[0], afterItemID: ids[1]), .remove(itemID: ids[0]),
                .renameList(title: "Weekly"), .recolour(colour: "green"),
            ], in: weekly)
        try await phone.sync()
        try await tablet.sync()
        try await tablet.sync()
        try await tablet.close()
        var sentences: [String] = []
        for await change in changes { sentences.append(change.sentence) }
        #expect(
            sentences == [
                "Eggs added by alice on phone", "Milk ticked by alice on phone",
                "Bread renamed to Rye bread by alice on phone", "Milk unticked by alice on phone",
                "Milk moved by alice on phone", "Milk removed by alice on phone",
                "the list is now called Weekly by alice on phone",
                "the list is now green by alice on phone",
            ])
    }

    @Test(arguments: [true, false])
    func offlineAddsAfterSameItemAreMerged(phoneFirst: Bool) async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk", "Bread"], phone, tablet)
        let milk = await phone.list(weekly)?.items.first?.id
        await phone.setOnline(false)
        await tablet.setOnline(false)
        try await phone.perform([.add(names: ["Cream", "Butter"], afterItemID: milk)], in: weekly)
        try await tablet.perform([.add(names: ["Eggs", "Ham"], afterItemID: milk)], in: weekly)
        await phone.setOnline(true)
        await tablet.setOnline(true)
        let order = phoneFirst ? [phone, tablet, phone] : [tablet, phone, tablet]
        for device in order { try await device.sync() }
        let names = await phone.list(weekly)?.items.map(\.name)
        #expect(names == ["Milk", "Eggs", "Ham", "Cream", "Butter", "Bread"])
        #expect(await tablet.list(weekly) == phone.list(weekly))
    }

    @Test(arguments: [true, false])
    func laterRenameWinsInEitherSyncOrder(phoneFirst: Bool) async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Bread"], phone, tablet)
        let first = await phone.list(weekly)?.items.first
        let bread = try #require(first?.id)
        let notifiedTablet = await tablet.changes()
        try await phone.perform(
            [.rename(itemID: bread, name: "Rye"), .renameList(title: "Food")], in: weekly)
        // Longer than a device's estimate of the service's clock can be wrong; each read of the clock takes a second.
        world.pass(milliseconds: 3_600_000)
        try await tablet.perform(
            [.rename(itemID: bread, name: "Rolls"), .renameList(title: "Weekly")], in: weekly)
        let order = phoneFirst ? [phone, tablet, phone] : [tablet, phone, tablet]
        for device in order { try await device.sync() }
        for device in [phone, tablet] {
            #expect(await device.list(weekly)?.items.map(\.name) == ["Rolls"])
            #expect(await device.lists.map(\.title) == ["Weekly"])
            #expect(try await device.status().pendingCount == 0)
        }
        // The root record's title, which a device sees before the journal, is the later one too.
        let third = try await world.container("laptop").privateCloudDatabase
        let zone = weekly.zoneID
        let root = try await third.record(for: CKRecord.ID(recordName: weekly.name, zoneID: zone))
        #expect(root["title"] == "Weekly")
        try await tablet.close()
        var sentences: [String] = []
        for await change in notifiedTablet { sentences.append(change.sentence) }
        #expect(
            sentences.first
                == "Rolls renamed to Rye by alice on phone; the later name Rolls stays")
    }

    @Test func restartKeepsListAndPendingChanges() async throws {
        let first = try await world.open("phone")
        let weekly = try await first.create(title: "Groceries")
        try await first.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        let (list, pending) = (await first.list(weekly), try await first.status().pendingCount)
        #expect(pending == 3)
        try await first.close()

        let again = try await world.open("phone")
        #expect(await again.list(weekly) == list)
        #expect(try await again.status().pendingCount == pending)
        try await again.sync()
        #expect(try await again.status().pendingCount == 0)
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.list(weekly) == list)
    }

    @Test func offlineChangesWaitUntilOnline() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk"], phone, tablet)
        await phone.setOnline(false)
        try await phone.perform([.add(names: ["Eggs"], afterItemID: nil)], in: weekly)
        await #expect(throws: CacheError.self) { try await phone.sync() }
        try await tablet.sync()
        #expect(await tablet.list(weekly)?.items.map(\.name) == ["Milk"])
        #expect(try await phone.status().pendingCount == 1)
        await phone.setOnline(true)
        try await phone.sync()
        try await tablet.sync()
        #expect(await tablet.list(weekly)?.items.map(\.name) == ["Eggs", "Milk"])
    }

    @Test func runningDeviceReceivesChangesAutomatically() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk"], phone, tablet)
        var received = await tablet.changes().makeAsyncIterator()
        await phone.start()
        await tablet.start()
        try await phone.perform([.add(names: ["Eggs"], afterItemID: nil)], in: weekly)
        #expect(await received.next()?.sentence == "Eggs added by alice on phone")
        try await phone.close()
        try await tablet.close()
    }

    @Test func entriesOfOneActionHaveIncreasingEditTimes() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        let entries = try await phone.perform(
            [.add(names: ["Milk", "Eggs"], afterItemID: nil), .recolour(colour: "red")], in: weekly)
        let times = entries.map(\.editTimeMilliseconds)
        #expect(times == times.sorted() && Set(times).count == 3)
        #expect(await phone.journal(weekly)?.history.suffix(3) == entries[...])
    }

    @Test func remotelyDeletedListIsNotRecreatedByAction() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk"], phone, tablet)
        let database = try await world.container("web").privateCloudDatabase
        let zoneID = weekly.zoneID
        _ = try await database.deleteRecordZone(withID: zoneID)
        try await tablet.sync()
        await #expect(throws: ShoppingStore.UnknownList.self) {
            try await tablet.perform([.add(names: ["Eggs"], afterItemID: nil)], in: weekly)
        }
        try await tablet.sync()
        #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
    }

    /// The moment after the file has lost the list, and before the store knows it.
    @Test func listThatIsBeingDeletedIsNotRecreatedByAPicture() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        let milk = try #require(await phone.list(weekly)?.items.first?.id)
        try await phone.sync()
        try await phone.cache.deleteZone(weekly.zoneID)
        let picture = FileManager.default.temporaryDirectory
            .appendingPathComponent("picture-\(UUID().uuidString)")
        try Data("a picture".utf8).write(to: picture)
        defer { try? FileManager.default.removeItem(at: picture) }
        await #expect(throws: ShoppingStore.UnknownList.self) {
            try await phone.setPicture(picture, of: milk, in: weekly)
        }
        #expect(try await !phone.cache.zoneIDs().contains(weekly.zoneID))
    }

    /// An entry of a list's journal, as another client makes it.
    private func entry(
        of listID: ListID, _ action: String, atSeconds seconds: Double
    ) -> CKRecord {
        let entry = CKRecord(
            recordType: ShoppingRecord.journalEntryType,
            recordID: CKRecord.ID(zoneID: listID.zoneID))
        entry["listID"] = listID.name
        entry["action"] = action
        entry["editTime"] = Date(timeIntervalSince1970: seconds)
        return entry
    }

    /// Another client's entry must not crash the app, now and at every start.
    @Test(arguments: [9.3e15, 1e300])
    func entryWithOverflowingEditTimeIsIgnored(_ seconds: Double) async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        let entry = entry(of: weekly, "recolour", atSeconds: seconds)
        entry["value"] = "red"
        // The service may accept or refuse such a date.
        _ = try? await world.container("web").privateCloudDatabase.save(entry)
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.list(weekly)?.title == "Groceries")
        #expect(await tablet.list(weekly)?.colour != "red")
    }

    @Test func changeByNewerAppIsKeptAndReported() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        #expect(await !phone.needsNewerApp)
        let entry = entry(of: weekly, "sing", atSeconds: 1_700_000_000)
        entry["appVersion"] = JournalEntry.currentAppVersion + 1
        _ = try await world.container("web").privateCloudDatabase.save(entry)
        try await phone.sync()
        #expect(await phone.needsNewerApp)
        #expect(
            await phone.journal(weekly)?.history.contains { $0.action.rawValue == "sing" } == true)
    }

    @Test func unknownListIsRefused() async throws {
        let phone = try await world.open("phone")
        await #expect(throws: ShoppingStore.UnknownList.self) {
            try await phone.perform([.renameList(title: "Food")], in: ListID("nowhere"))
        }
    }
}
