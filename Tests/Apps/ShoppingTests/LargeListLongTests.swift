import Foundation
import ShoppingCore
import Testing

/// A list of 20,000 entries at the service's default limits; `STRATUS_LONG=1` runs it.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["STRATUS_LONG"] != nil),
    .timeLimit(.minutes(30)))
struct LargeListLongTests {
    @Test func listIsCompactedSharedStoppedAndDeleted() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone", user: "alice@example.org")
        let bobs = try await world.open("bobs", user: "bob@example.org")
        let weekly = try await phone.create(title: "Groceries")
        for block in 0..<20 {
            let last = await phone.list(weekly)?.items.last?.id
            try await phone.perform(
                [.add(names: (0..<500).map { "Item \(block) \($0)" }, afterItemID: last)],
                in: weekly)
        }
        let ids = try #require(await phone.list(weekly)?.items.map(\.id))
        try await phone.perform(ids.dropLast(20).map { .tick(itemID: $0) }, in: weekly)
        try await phone.sync()
        try await phone.share(weekly)
        let link = try #require(try await phone.invite(["bob@example.org"], to: weekly).link)
        let his = try await bobs.join(link)
        #expect(await bobs.journal(his)?.count == 19_981)
        world.pass(milliseconds: 15 * 86_400_000)
        #expect(try await phone.compact(weekly) == 19_960)
        try await phone.sync()
        try await bobs.sync()
        for (store, id) in [(phone, weekly), (bobs, his)] {
            #expect(await store.journal(id)?.count == 21)
            #expect(await store.list(id)?.items.map(\.id) == ids.suffix(20))
        }
        try await phone.stopSharing(weekly)
        try await phone.delete(weekly)
        try await phone.sync()
        try await bobs.sync()
        #expect(await bobs.lists.isEmpty)
        #expect(try await phone.status().pendingCount == 0)
    }
}
