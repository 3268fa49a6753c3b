import Foundation
import ShoppingCore
import TestSeeds
import Testing

/// A year of shopping: two people, four devices that are offline at times, and restarts into new versions of the
/// app.
@Suite(.timeLimit(.minutes(30)))
struct SimulatedYearTests {
    /// `STRATUS_LONG=1` writes 20,000 entries.
    private let isLong = ProcessInfo.processInfo.environment["STRATUS_LONG"] != nil
    private let users = [
        "alice@example.org", "alice@example.org", "bob@example.org", "bob@example.org",
    ]
    private let devices = ["phone", "tablet", "bobs-phone", "bobs-laptop"]

    @Test(arguments: Seeds.forTest("SimulatedYearTests", count: 1))
    func allDevicesConvergeAfterAYear(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let world = try ShoppingWorld()
        let (rounds, entriesPerRound) = isLong ? (365, 55) : (8, 6)
        let roundMilliseconds = 365 * 86_400_000 / Int64(rounds)
        var stores: [ShoppingStore] = []
        for (device, user) in zip(devices, users) {
            stores.append(try await world.open(device, user: user))
        }
        let own = try await stores[0].create(title: "Groceries")
        try await stores[0].share(own)
        let link = try #require(
            try await stores[0].invite(["bob@example.org"], to: own).link)
        let his = try await stores[2].join(link)
        for store in stores { try await store.sync() }
        let ids = [own, own, his, his]
        var (count, syncs, starts) = (1, 0, 0)
        var mostLeft = 0
        for round in 0..<rounds {
            for _ in 0..<entriesPerRound {
                let index = Int.random(in: 0..<4, using: &generator)
                let action = action(
                    on: try #require(await stores[index].list(ids[index])), count, &generator)
                count += try await stores[index].perform([action], in: ids[index]).count
            }
            for index in 0..<4 where Int.random(in: 0..<3, using: &generator) > 0 {
                try await stores[index].sync()
                syncs += 1
            }
            mostLeft = max(mostLeft, await stores[0].journal(own)?.count ?? 0)
            if round.isMultiple(of: 9) {
                let index = Int.random(in: 0..<4, using: &generator)
                try await stores[index].close()
                stores[index] = try await world.open(devices[index], user: users[index])
                starts += 1
            }
            world.pass(milliseconds: roundMilliseconds)
        }
        for _ in 0..<2 { for store in stores { try await store.sync() } }
        for store in stores { try await store.sync() }
        let journal = try #require(await stores[0].journal(own))
        let items = try #require(await stores[0].list(own)?.items.map(\.id))
        for (store, id) in zip(stores, ids) {
            #expect(await store.list(id)?.items.map(\.id) == items)
            #expect(
                Set(await store.journal(id)?.history.map(\.id) ?? [])
                    == Set(journal.history.map(\.id)))
            #expect(try await store.status().pendingCount == 0)
            #expect(try await store.status().attentionCount == 0)
        }
        #expect(count > rounds * entriesPerRound)
        // In a short year, few entries are superseded.
        #expect(
            journal.count < (isLong ? count * 2 / 3 : count),
            "Of \(count) entries \(journal.count) are left.")
        if isLong {
            print(
                "A year of 2 people with 4 devices: \(count) entries in \(rounds) days, \(syncs) syncs, "
                    + "\(starts) restarts; of the journal \(journal.count) entries are left, at most "
                    + "\(mostLeft) at a time; \(items.count) items on the list, equal on all devices."
            )
        }
        for store in stores { try await store.close() }
    }

    private func action(
        on list: ShoppingList, _ number: Int, _ generator: inout SeededGenerator
    ) -> ShoppingAction {
        let item = list.items.randomElement(using: &generator)
        let isFull = list.unticked.count > 12
        switch (Int.random(in: 0..<10, using: &generator), item) {
        case (0..<4, let item?),
            (4..<8, let item?) where isFull:
            return .tick(itemID: item.id)
        case (8, let item?): return .rename(itemID: item.id, name: "Item \(number)")
        case (9, let item?):
            return Bool.random(using: &generator)
                ? .untick(itemID: item.id) : .remove(itemID: item.id)
        default: return .add(names: ["Item \(number)"], afterItemID: item?.id)
        }
    }
}
