import Foundation
import StratusCache
import StratusClient
import Testing

@testable import ShoppingCore

/// What happens to lists when their account is removed from the device, and to changes that the service refuses.
@Suite(.timeLimit(.minutes(20)))
struct ShoppingSignOutTests {
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

    /// Lists created before a sign-in are adopted, even if the account already has lists on this device.
    @Test func listsMadeBeforeSignInAreAdopted() async throws {
        let world = try ShoppingWorld()
        let local = try await world.open("local", user: nil)
        let party = try await local.create(title: "Party")
        try await local.perform([.add(names: ["Candles", "Wine"], afterItemID: nil)], in: party)
        let candles = try #require(await local.list(party)?.items.first?.id)
        let picture = FileManager.default.temporaryDirectory
            .appendingPathComponent("picture-\(UUID().uuidString)")
        try Data("a picture".utf8).write(to: picture)
        defer { try? FileManager.default.removeItem(at: picture) }
        try await local.setPicture(picture, of: candles, in: party)
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        for _ in 0..<2 {
            try await phone.adoptLists(of: local)
            #expect(await phone.lists.map(\.title) == ["Groceries", "Party"])
            #expect(await phone.list(party) == local.list(party))
            #expect(try await phone.activity(of: party).count == 4)
            try await phone.sync()
            #expect(try await phone.status().haltReason == nil)
            #expect(try await phone.refusedChanges().map(\.sentence) == [])
        }
        try await local.close()
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.list(party)?.items.map(\.name) == ["Candles", "Wine"])
        #expect(await tablet.list(weekly) != nil)
        let file = try #require(try await tablet.picture(of: candles, in: party))
        #expect(try Data(contentsOf: file) == Data("a picture".utf8))
    }

    /// Earlier versions moved the lists from before a sign-in to the account's file.
    @Test func movedFileFromBeforeSignInIsClaimed() async throws {
        let world = try ShoppingWorld()
        let local = try await world.open("phone", user: nil)
        let party = try await local.create(title: "Party")
        try await local.close()
        let phone = try await world.open("phone")
        await #expect(throws: CacheError.self) { try await phone.sync() }
        try await phone.claimLists()
        try await phone.sync()
        try await phone.close()
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.list(party)?.title == "Party")
    }

    /// A command that ends at once waits for these changes as for any others.
    @Test func deletionIsPendingUntilItIsSent() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        #expect(try await !phone.hasUnsent)
        try await phone.delete(weekly)
        #expect(try await phone.hasUnsent)
        try await phone.close()
        let again = try await world.open("phone")
        #expect(try await again.hasUnsent)
        try await again.sync()
        #expect(try await !again.hasUnsent)
        let tablet = try await world.open("tablet")
        try await tablet.sync()
        #expect(await tablet.lists.isEmpty)
    }

    @Test func modeAndNoticesSurviveRestart() async throws {
        let world = try ShoppingWorld()
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        let weekly = try await world.share("Groceries", ["Milk"], phone, tablet)
        var screen = try #require(try await tablet.screen(of: weekly))
        #expect(screen.mode == .planning)
        screen.enter(.shopping)
        try await tablet.keep(screen, of: weekly)
        try await phone.perform([.add(names: ["Eggs"], afterItemID: nil)], in: weekly)
        try await phone.sync()
        try await tablet.sync()
        try await tablet.close()
        let again = try await world.open("tablet")
        var restored = try #require(try await again.screen(of: weekly))
        #expect(restored.mode == .shopping)
        #expect(restored.rows.map(\.item.name) == ["Milk"])
        #expect(restored.notices.map(\.name) == ["Eggs"])
        restored.enter(.planning)
        try await again.keep(restored, of: weekly)
        #expect(try await again.screen(of: weekly)?.mode == .planning)
    }

    @Test func pendingChangesAreNamed() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        #expect(
            try await phone.pendingSentences() == [
                "the list Groceries itself", "create Groceries in Groceries",
                "add Milk in Groceries",
            ])
        try await phone.sync()
        #expect(try await phone.pendingSentences().isEmpty)
    }

    @Test func lossAndReturnOfTheServiceAreReported() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        var changes = await phone.changes().makeAsyncIterator()
        world.cloud.faults.nextRequests(4, .dropConnectionBeforeCommit)
        await phone.start()
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        #expect(await changes.next()?.kind == .serviceLost)
        #expect(await changes.next()?.kind == .serviceBack)
        try await phone.close()
    }

    @Test func refusedChangeIsReportedUntilResolved() async throws {
        let world = try ShoppingWorld()
        let phone = try await world.open("phone")
        let weekly = try await phone.create(title: "Groceries")
        try await phone.sync()
        // More than fits into a record.
        try await phone.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
        let nothing = String(repeating: "much ", count: 300_000)
        try await phone.perform([.note(itemID: nothing, text: "much")], in: weekly)
        try await phone.sync()
        let refused = try await phone.refusedChanges()
        #expect(refused.count == 1)
        #expect(refused.first?.sentence.hasPrefix("note much: ") == true)
        #expect(refused.first?.listID == weekly)
        // It is in the activity once a day, even after it was resolved, and after a restart.
        func errors(_ store: ShoppingStore) async throws -> [String] {
            ActivityHistory(try await store.activity(of: weekly)).lines.map(\.sentence)
                .filter { $0.hasPrefix("The service refuses a change") }
        }
        while try await errors(phone).isEmpty {
            // The test's time limit ends the wait.
            try Task.checkCancellation()
            await Task.yield()
        }
        try await phone.retry(refused)
        #expect(try await phone.status().attentionCount == 0)
        try await phone.sync()
        #expect(try await phone.status().attentionCount == 1)
        try await phone.giveUp(try await phone.refusedChanges())
        #expect(try await phone.refusedChanges().isEmpty)
        #expect(await phone.list(weekly)?.items.first?.note == nil)
        try await phone.close()
        let again = try await world.open("phone")
        #expect(try await errors(again).count == 1)
        // An error that concerns no list is in the activity of each.
        await again.keepTrouble(of: ShoppingChange(.trouble("The service is full.")))
        #expect(
            ActivityHistory(try await again.activity(of: weekly)).lines.last?.sentence
                == "The service is full.")
        #expect(await again.list(weekly)?.items.map(\.name) == ["Milk"])
    }
}
