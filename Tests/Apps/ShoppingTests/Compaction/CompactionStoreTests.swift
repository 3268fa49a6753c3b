import Foundation
import ShoppingCore
import StratusCache
import StratusClient
import Testing

/// Compaction through the service, among the devices of one account.
@Suite(.timeLimit(.minutes(20)))
struct CompactionStoreTests {
    private let world: ShoppingWorld
    private let day: Int64 = 86_400_000

    init() throws { world = try ShoppingWorld() }

    /// The service's records of a list, by their names.
    private func recordsAtService(_ listID: ListID) async throws -> [String: CKRecord] {
        let database = try await world.container("web").privateCloudDatabase
        let zoneID = listID.zoneID
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        return try Dictionary(
            uniqueKeysWithValues: changes.modificationResultsByID.map {
                ($0.key.recordName, try $0.value.get().record)
            })
    }

    /// A list with milk and bread on both devices, and the milk's identifier, which one of them has ticked.
    private func shared(
        _ phone: ShoppingStore, _ tablet: ShoppingStore, tickedBy device: ShoppingStore
    ) async throws -> (ListID, milk: String) {
        let weekly = try await world.share("Groceries", ["Milk", "Bread"], phone, tablet)
        let milk = try #require(await device.list(weekly)?.items.first?.id)
        try await device.perform([.tick(itemID: milk)], in: weekly)
        return (weekly, milk)
    }

    @Test func uploadCompactsOldEntriesAndActivityStays() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let (weekly, milk) = try await shared(phone, tablet, tickedBy: phone)
        try await phone.sync()
        try await tablet.sync()
        let before = try await recordsAtService(weekly)
        #expect(before.count == 5)
        world.pass(milliseconds: 13 * day)
        try await tablet.sync()
        try await phone.perform([.recolour(colour: "green")], in: weekly)
        try await phone.sync()
        #expect(try await recordsAtService(weekly).count == 6)

        world.pass(milliseconds: 2 * day)
        try await phone.perform([.recolour(colour: "red")], in: weekly)
        try await phone.sync()
        let after = try await recordsAtService(weekly)
        // Root, create, Bread's add, two colours. Milk's add and tick were removed.
        #expect(after.count == 5)
        let until = try #require(after[weekly.name]?[ShoppingRecord.compressedUntilField] as Date?)
        let now = Double(world.now()) / 1_000
        #expect(abs(now - 14 * 86_400 - until.timeIntervalSince1970) < 600)

        let laptop = try await world.open("laptop")
        for device in [phone, tablet, laptop] {
            try await device.sync()
            #expect(await device.list(weekly)?.items.map(\.name) == ["Bread"])
            #expect(await device.journal(weekly)?.count == 4)
        }
        for device in [phone, tablet] {
            let activity = try await device.activity(of: weekly)
            #expect(activity.filter { $0.itemID == milk }.map(\.action) == [.add, .tick])
            #expect(activity.count == 6)
        }
    }

    @Test func compactionWaitsHalfAnHour() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        let minute: Int64 = 60_000
        for name in ["Milk", "Eggs"] {
            try await phone.perform([.add(names: [name], afterItemID: nil)], in: weekly)
            let id = try #require(await phone.list(weekly)?.items.first?.id)
            try await phone.perform([.remove(itemID: id)], in: weekly)
            try await phone.sync()
            world.pass(milliseconds: 10 * minute)
        }
        world.pass(milliseconds: 14 * day - 15 * minute)
        /// Compacts if it is due, and returns how many entries of Milk and Eggs are left.
        func left() async throws -> Int {
            try await phone.perform([.recolour(colour: "red")], in: weekly)
            try await phone.sync()
            return try await recordsAtService(weekly).values.count { $0["itemID"] != nil }
        }
        #expect(try await left() == 2)
        world.pass(milliseconds: 15 * minute)
        #expect(try await left() == 2)
        world.pass(milliseconds: 20 * minute)
        #expect(try await left() == 0)
    }

    /// If the root was changed meanwhile, that change wins, and nothing is deleted.
    @Test func compactionOfChangedRootDeletesNothing() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        try await phone.sync()
        let milk = try #require(await phone.list(weekly)?.items.first?.id)
        try await phone.perform([.remove(itemID: milk)], in: weekly)
        try await phone.sync()
        world.pass(milliseconds: 15 * day)
        let database = try await world.container("web").privateCloudDatabase
        let zoneID = weekly.zoneID
        let rootID = CKRecord.ID(recordName: weekly.name, zoneID: zoneID)
        let root = try await database.record(for: rootID)
        let other = try await database.record(for: rootID)
        other[ShoppingRecord.titleField] = "Changed"
        try await database.save(other)
        let entries = try #require(await phone.journal(weekly)?.history)
        let error = await #expect(throws: CKError.self) {
            try await phone.deleteCompacted(
                entries, with: root, until: 1_700_000_000_000,
                in: phone.container.privateCloudDatabase)
        }
        #expect(error?.code == .serverRecordChanged)
        #expect(try await recordsAtService(weekly).count == 4)
        // Nor does a device compact before it has seen the root's change.
        #expect(try await phone.compact(weekly) == 0)
        try await phone.sync()
        #expect(try await phone.compact(weekly) == 2)
    }

    /// An old entry that was uploaded just now is kept, since other devices have not seen it yet.
    @Test func lateUploadedEntryIsNotCompacted() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let (weekly, _) = try await shared(phone, tablet, tickedBy: tablet)
        world.pass(milliseconds: 20 * day)
        // The device that uploads it compacts, too.
        try await tablet.sync()
        #expect(try await recordsAtService(weekly).count == 5)
        try await phone.sync()
        #expect(await phone.journal(weekly)?.history.last?.action == .tick)
        world.pass(milliseconds: 15 * day)
        try await phone.perform([.recolour(colour: "red")], in: weekly)
        try await phone.sync()
        #expect(try await recordsAtService(weekly).count == 4)
    }

    @Test func manyEntriesGoInAtomicSteps() async throws {
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        let names = (0..<450).map { "Item \($0)" }
        try await phone.perform([.add(names: names, afterItemID: nil)], in: weekly)
        let ids = try #require(await phone.list(weekly)?.items.map(\.id))
        try await phone.perform(ids.dropLast().map { .tick(itemID: $0) }, in: weekly)
        try await phone.sync()
        world.pass(milliseconds: 15 * day)
        #expect(try await phone.compact(weekly) == 898)
        try await phone.sync()
        #expect(await phone.journal(weekly)?.count == 2)
        #expect(await phone.list(weekly)?.items.map(\.name) == ["Item 449"])
    }

    @Test func deviceAwayForLongFetchesEverythingAgain() async throws {
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let (weekly, milk) = try await shared(phone, tablet, tickedBy: phone)
        try await phone.sync()
        try await tablet.perform([.add(names: ["Eggs"], afterItemID: milk)], in: weekly)
        world.pass(milliseconds: 20 * day)
        try await phone.perform([.recolour(colour: "red")], in: weekly)
        try await phone.sync()
        let notified = await tablet.changes()
        await tablet.setOnline(false)
        await tablet.start()
        let report = try await tablet.cache.diagnosticsReport()
        #expect(report.zones.allSatisfy { $0.isRefetching || $0.needsFetch })
        await tablet.setOnline(true)
        try await tablet.sync()
        try await phone.sync()
        #expect(await tablet.list(weekly)?.items.map(\.name) == ["Eggs", "Bread"])
        #expect(await tablet.list(weekly) == phone.list(weekly))
        try await tablet.close()
        for await change in notified {
            if case .trouble(let sentence) = change.kind { Issue.record("\(sentence)") }
        }
    }
}
