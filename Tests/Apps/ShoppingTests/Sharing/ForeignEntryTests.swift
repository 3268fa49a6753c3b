import Foundation
import StratusClient
import Testing

@testable import ShoppingCore

/// A participant writes into a shared list with another program: the others' data is not lost.
@Suite(.timeLimit(.minutes(20)))
struct ForeignEntryTests {
    private let world: ShoppingWorld

    init() throws { world = try ShoppingWorld() }

    /// Alice's list with milk and bread, and the same list as Bob sees it, with his app and without.
    private struct Shared {
        let phone, bobs: ShoppingStore
        let own, his: ListID
        let database: CKDatabase

        func entry(_ name: String, _ fields: [String: any CKRecordValueProtocol]) -> CKRecord {
            let record = CKRecord(
                recordType: ShoppingRecord.journalEntryType,
                recordID: CKRecord.ID(recordName: name, zoneID: his.zoneID))
            record.setParent(his.rootID)
            record["listID"] = his.name
            for (field, value) in fields { record[field] = value }
            return record
        }
    }

    private func shared() async throws -> Shared {
        let (phone, bobs, own, his) = try await world.joined()
        return Shared(
            phone: phone, bobs: bobs, own: own, his: his,
            database: try await world.container("program", user: world.bob).sharedCloudDatabase)
    }

    private func now() -> Date {
        Date(timeIntervalSince1970: Double(world.now()) / 1_000)
    }

    /// A participant knows the name of the record that announces a list's end, and may create it first.
    @Test func forgedEndRecordIsIgnoredAndDoesNotBlockTheOwner() async throws {
        for isDeleted in [false, true] {
            let shared = try await ForeignEntryTests().shared()
            let root = try await shared.database.record(for: shared.his.rootID)
            let share = try #require(root.share?.recordID.recordName)
            let word = CKRecord(
                recordType: ShoppingRecord.listEndType,
                recordID: CKRecord.ID(recordName: "end-" + share))
            word[ShoppingRecord.endField] = isDeleted ? "stopped" : "deleted"
            try await shared.bobs.container.publicCloudDatabase.save(word)
            let changes = await shared.bobs.changes()
            if isDeleted {
                try await shared.phone.delete(shared.own)
            } else {
                try await shared.phone.stopSharing(shared.own)
            }
            try await shared.phone.sync()
            #expect(await shared.phone.lists.count == (isDeleted ? 0 : 1))
            try await shared.bobs.sync()
            try await shared.bobs.close()
            var sentences: [String] = []
            for await change in changes { sentences.append(change.sentence) }
            #expect(sentences == ["Groceries is no longer shared with you"])
        }
    }

    /// A change is dated after all known ones; an entry from the far future must leave times for later changes.
    @Test func entryFromTheFarFutureAllowsLaterChanges() async throws {
        let shared = try await shared()
        let (phone, own) = (shared.phone, shared.own)
        try await shared.database.save(
            shared.entry(
                "far",
                [
                    "action": "add", "itemID": "far", "value": "Far",
                    "editTime": Date(timeIntervalSince1970: 9_223_372_036_854_774),
                ]))
        try await shared.database.save(
            shared.entry(
                "early",
                [
                    "action": "add", "itemID": "early", "value": "Early",
                    "editTime": Date(timeIntervalSince1970: -9_000_000_000_000_000),
                ]))
        try await phone.sync()
        let year = ShoppingLimits.editTimeAheadMilliseconds
        let times = try #require(await phone.journal(own)).history.map(\.editTimeMilliseconds)
        #expect(times.allSatisfy { (0...world.now() + year).contains($0) })
        #expect(await phone.list(own)?.items.count == 4)
        try await phone.perform(
            [
                .add(names: (0..<1_500).map { "2 × thing \($0)" }, afterItemID: nil),
                .tick(itemID: "far"), .untick(itemID: "far"), .rename(itemID: "far", name: "Near"),
                .remove(itemID: "early"),
            ], in: own)
        try await phone.sync()
        let tablet = try await world.open("tablet", user: world.alice)
        try await tablet.sync()
        let items = try #require(await tablet.list(own)).items
        #expect(items.map(\.text) == (await phone.list(own)?.items.map(\.text)))
        #expect(items.count == 1_503)
        let near = try #require(items.first { $0.id == "far" })
        #expect(near.name == "Near" && !near.isTicked)
    }

    @Test func oversizedTextsAreTruncated() async throws {
        let shared = try await shared()
        let long = String(repeating: "\u{1B}[31m\u{202E}é👩‍👩‍👧<b>\n", count: 1_500)
        for (action, item) in [
            ("add", "long"), ("note", "long"), ("category", "long"), ("rename", nil),
        ] {
            var fields: [String: any CKRecordValueProtocol] = [
                "action": action, "value": long, "device": long, "author": long,
                "editTime": now(), "appVersion": Int64(2),
            ]
            fields["itemID"] = item
            try await shared.database.save(shared.entry("\(action) \(item ?? "")", fields))
        }
        let changes = await shared.phone.changes()
        try await shared.phone.sync()
        let list = try #require(await shared.phone.list(shared.own))
        let item = try #require(list.items.first { $0.id == "long" })
        let limit = ShoppingLimits.textScalars + 1
        for text in [list.title, item.name, item.note ?? "", item.category ?? "", item.addedBy] {
            #expect(!text.isEmpty && text.unicodeScalars.count <= limit)
        }
        let shown = ListText().render(list)
        #expect(shown.split(separator: "\n").count == 7)
        #expect(!shown.contains("\u{1B}") && !shown.contains("\u{202E}"))
        try await shared.phone.close()
        for await change in changes {
            #expect(change.sentence.unicodeScalars.count < 4 * limit)
            #expect(!change.sentence.contains("\n") && !change.sentence.contains("\u{1B}"))
        }
    }

    /// The app never changes entries; if another person changes one, it counts as that person's.
    @Test func changedEntryIsAttributedToItsLastWriter() async throws {
        let shared = try await shared()
        let milk = try #require(
            await shared.phone.journal(shared.own)?.history.first { $0.value == "Milk" })
        #expect(milk.creatorName == nil)
        let record = try await shared.database.record(
            for: CKRecord.ID(recordName: milk.id, zoneID: shared.his.zoneID))
        record["value"] = "Poison"
        try await shared.database.save(record)
        let tablet = try await world.open("tablet", user: world.alice)
        try await tablet.sync()
        let item = try #require(await tablet.list(shared.own)?.items.first { $0.name == "Poison" })
        let him = try #require(await tablet.sharing(of: shared.own)?.people.first { !$0.isMe })
        #expect(item.addedBy == him.name && item.addedFrom.creatorName == him.userName)
    }

    /// Records that the app would never write: incomplete, contradictory, cyclic, or of a future version.
    @Test func malformedRecordsDoNotBreakTheList() async throws {
        let shared = try await shared()
        let strange: [[String: any CKRecordValueProtocol]] = [
            [:], ["action": "add"], ["action": "add", "itemID": "x", "editTime": now()],
            ["action": "add", "editTime": now()], ["action": "", "itemID": "", "editTime": now()],
            ["action": "explode", "itemID": "x", "editTime": now(), "appVersion": Int64.max],
            [
                "action": "quantity", "itemID": "x", "value": "99999999999999999999",
                "editTime": now(),
            ],
            ["action": "picture", "itemID": "x", "editTime": now(), "appVersion": Int64.min],
            ["action": "rename", "editTime": now()],
            ["action": "create", "value": "Mine", "editTime": now()],
            ["action": "tick", "itemID": "nobody", "editTime": now(), "extra": 1e300],
            ["action": "reorder", "itemID": "x", "afterItemID": "x", "editTime": now()],
            ["action": "add", "itemID": "a", "value": "A", "afterItemID": "b", "editTime": now()],
            ["action": "add", "itemID": "b", "value": "B", "afterItemID": "a", "editTime": now()],
            [
                "action": "reorder", "itemID": "a", "afterItemID": "b", "editTime": now(),
                "extra": -Double.infinity,
            ],
        ]
        for (number, fields) in strange.enumerated() {
            // Whether the service refuses the record does not matter.
            _ = try? await shared.database.save(shared.entry("strange \(number)", fields))
        }
        let second = CKRecord(
            recordType: ShoppingRecord.shoppingListType,
            recordID: CKRecord.ID(recordName: "second", zoneID: shared.his.zoneID))
        second.setParent(shared.his.rootID)
        second[ShoppingRecord.titleField] = "Stolen"
        try await shared.database.save(second)
        let tablet = try await world.open("tablet", user: world.alice)
        for store in [shared.phone, tablet, shared.bobs] { try await store.sync() }
        let list = try #require(await shared.phone.list(shared.own))
        #expect(list.title == "Groceries")
        #expect(await tablet.list(shared.own)?.items.map(\.text) == list.items.map(\.text))
        #expect(Set(list.items.map(\.name)).isSuperset(of: ["Milk", "Bread", "A", "B", ""]))
        #expect(await shared.phone.listsByID[shared.own]?.rootTitle == "Groceries")
        #expect(await shared.phone.needsNewerApp)
        // Nothing is sent repeatedly.
        #expect(try await shared.phone.status().pendingCount == 0)
        #expect(try await !shared.phone.hasUnsent)
    }

    @Test func shareOfAnotherAppIsNotJoined() async throws {
        let bobs = try await world.open("bobs", user: world.bob)
        let database = try await world.container("trips", user: world.alice).privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Trips")
        try await database.save(zone)
        let trip = CKRecord(
            recordType: "Trip", recordID: CKRecord.ID(recordName: "trip", zoneID: zone.zoneID))
        let share = CKShare(rootRecord: trip)
        share.publicPermission = .readWrite
        let saved = try await database.modifyRecords(saving: [trip, share], deleting: [])
        let stored = try saved.saveResults[share.recordID]?.get() as? CKShare
        let link = try #require(stored?.url)
        let refusal = await #expect(throws: SharingRefused.self) { try await bobs.join(link) }
        #expect(refusal?.reason == .noList)
        let his = try await world.container("look", user: world.bob).sharedCloudDatabase
        #expect(try await his.allRecordZones().isEmpty)
    }
}
