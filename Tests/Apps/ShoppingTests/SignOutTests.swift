import Foundation
import ShoppingCore
import StratusCache
import StratusClient
import StratusWire
import Testing

/// What becomes of lists when their account leaves the device, and of changes that the service refuses.
@Suite(.timeLimit(.minutes(2)))
struct SignOutTests {
    @Test func signOutSendsFirstAndRemovesEverything() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        await phone.setOnline(false)
        await #expect(throws: CacheError.self) { try await phone.signOut(sendingFirst: true) }
        #expect(await phone.list(weekly)?.items.map(\.name) == ["Milk"])
        #expect(try await phone.activity(of: weekly).count == 2)
        await phone.setOnline(true)
        #expect(try await phone.signOut(sendingFirst: true) == 0)
        let again = try await world.open("phone")
        #expect(await again.lists.isEmpty)
        #expect(try await again.activity(of: weekly).isEmpty)
        try await again.sync()
        #expect(await again.list(weekly)?.items.map(\.name) == ["Milk"])
        try await again.perform([.recolour(colour: "red")], in: weekly)
        #expect(try await again.signOut(sendingFirst: false) == 1)
    }

    @Test func refusedChangeIsResolvedByThePerson() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        world.cloud.faults.next(of: RecordsModify.self, .answer(.badRequest))
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        try await phone.sync()
        let refused = try await phone.refusedChanges()
        #expect(refused.count == 1)
        #expect(refused.first?.sentence.hasPrefix("add Milk: ") == true)
        #expect(refused.first?.listID == weekly)
        try await phone.retry(refused)
        try await phone.sync()
        #expect(try await phone.refusedChanges().isEmpty)
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.list(weekly)?.items.map(\.name) == ["Milk"])
    }
}
