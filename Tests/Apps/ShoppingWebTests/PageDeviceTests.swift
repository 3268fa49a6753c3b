import Foundation
import ShoppingCore
import ShoppingWeb
import Testing

/// What pages show of a device, and what they can request.
@Suite(.timeLimit(.minutes(20)))
struct PageDeviceTests {
    private let world: PageWorld

    init() throws { world = try PageWorld() }

    /// Alice with a list that she shares, and Bob who has joined it.
    private func shoppers() async throws -> (alice: PageDevice, bob: PageDevice) {
        let alice = try await world.device("alices-phone", user: "alice")
        let bob = try await world.device("bobs-phone", user: "bob")
        try await bob.act(.sync)
        try await alice.act(.create(title: "Groceries"))
        try await alice.act(.add(text: "Milk; Bread"))
        try await alice.act(.share)
        try await alice.act(.invite(addresses: "bob@example.org"))
        let link = try #require(try await alice.shown().open?.sharing?.link)
        #expect(try await bob.act(.join(link: link)) == PageAnswer("Groceries is open."))
        try await bob.seen { $0.row("Bread") != nil }
        return (alice, bob)
    }

    @Test func rowsAreGroupedByAisle() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: " Food "))
        try await phone.act(.add(text: "Cat Food; Milk\n- Bread"))
        let open = try #require(try await phone.shown().open)
        #expect(open.title == "Food" && open.toBuyCount == 3)
        #expect(open.sections.map(\.name) == ["Bakery", "Dairy & Eggs", "Pets"])
        #expect(open.sections.map(\.aisle) == [2, 5, 26])
        #expect(open.sections.flatMap(\.rows).map(\.name) == ["Bread", "Milk", "Cat Food"])
        #expect(try await phone.shown().sync.kind == .local)
    }

    @Test func quantityIsShownAndChanged() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: "Food"))
        try await phone.act(.add(text: "2 × Milk; Bread"))
        let milk = try #require(try await phone.shown().row("Milk"))
        #expect(milk.quantity == 2)
        #expect(try await phone.shown().row("Bread")?.quantity == 1)
        try await phone.act(.count(itemID: milk.id, number: 6))
        #expect(try await phone.shown().row("Milk")?.quantity == 6)
        for number in [0, -1, 10_000] {
            #expect(try await phone.act(.count(itemID: milk.id, number: number)).isError)
        }
        try await phone.act(.goShopping)
        try await phone.act(.remove(itemID: milk.id))
        try await phone.act(.addAgain(itemID: milk.id))
        #expect(try await phone.shown().row("Milk")?.quantity == 6)
    }

    @Test func changeOfAnotherPersonIsMarkedAndAnnounced() async throws {
        let (alice, bob) = try await shoppers()
        let milk = try #require(try await bob.shown().row("Milk"))
        try await bob.act(.tick(itemID: milk.id))
        let state = try await alice.seen { $0.row("Milk")?.isTicked == true }
        let name = try #require(state.row("Milk")?.changedBy)
        #expect(name.lowercased().contains("bob"))
        #expect(state.row("Bread")?.changedBy == nil)
        #expect(state.announcements.last?.sentence.hasPrefix("Milk ticked by") == true)
        #expect(state.open?.boughtCount == 1)
        try await alice.act(.add(text: "Eggs"))
        #expect(try await alice.shown().row("Milk")?.changedBy == nil)
    }

    /// The user's other device is marked by its name, another person by theirs, even if both have the same name.
    @Test func changeMarkNamesThePersonOrTheOwnDevice() async throws {
        let (alice, bob) = try await shoppers()
        let tablet = try await world.device(
            "alices-tablet", user: "alice", person: "Alice’s other name")
        try await tablet.act(.sync)
        try await tablet.seen { $0.row("Milk") != nil && $0.open?.sharing != nil }
        let milk = try #require(try await alice.shown().row("Milk"))
        try await tablet.act(.tick(itemID: milk.id))
        let own = try await alice.seen { $0.row("Milk")?.isTicked == true }
        #expect(own.row("Milk")?.changedBy == "alices-tablet")
        try await bob.act(.untick(itemID: milk.id))
        let others = try await alice.seen { $0.row("Milk")?.isTicked == false }
        #expect(others.row("Milk")?.changedBy?.contains("bob") == true)
    }

    @Test func additionsOfOthersWaitAsNoticesWhileShopping() async throws {
        let (alice, bob) = try await shoppers()
        try await alice.act(.goShopping)
        try await bob.act(.add(text: "Eggs"))
        let state = try await alice.seen { $0.open?.notices.isEmpty == false }
        #expect(state.row("Eggs") == nil && state.open?.isShopping == true)
        let notice = try #require(state.open?.notices.first)
        #expect(notice.name == "Eggs")
        try await alice.act(.takeNotice(itemID: notice.id))
        #expect(try await alice.shown().row("Eggs") != nil)
        let bread = try #require(try await bob.shown().row("Bread"))
        try await bob.act(.remove(itemID: bread.id))
        let removed = try await alice.seen { $0.row("Bread")?.isRemoved == true }
        #expect(removed.rows.count == 3)
        try await alice.act(.addAgain(itemID: bread.id))
        #expect(try await alice.shown().row("Bread")?.isRemoved == false)
    }

    @Test func offlineChangesOfBothDevicesAreMerged() async throws {
        let (alice, bob) = try await shoppers()
        for device in [alice, bob] { try await device.act(.goOffline) }
        try await alice.act(.add(text: "Eggs"))
        let milk = try #require(try await bob.shown().row("Milk"))
        try await bob.act(.tick(itemID: milk.id))
        let waiting = try await alice.shown().sync
        #expect(waiting.kind == .offline && waiting.pendingCount == 1)
        #expect(waiting.pending == ["add Eggs in Groceries"])
        #expect(waiting.line == "You are offline. 1 change waits on this device.")
        for device in [alice, bob] { try await device.act(.goOnline) }
        for device in [alice, bob] {
            try await device.seen {
                $0.row("Eggs") != nil && $0.row("Milk")?.isTicked == true
                    && $0.sync.kind == .synced
            }
        }
    }

    @Test func peopleAreShownAndRemoved() async throws {
        let (alice, bob) = try await shoppers()
        let sharing = try #require(
            try await alice.seen { $0.open?.sharing?.people.last?.isInvited == false }
                .open?.sharing)
        #expect(sharing.people.map(\.role) == [.owner, .writes])
        #expect(sharing.people.map(\.isMe) == [true, false])
        #expect(try await bob.act(.removePerson(personID: "x")).isError)
        try await alice.act(.removePerson(personID: sharing.people[1].id))
        let state = try await bob.seen { $0.open == nil }
        let sentence = try #require(state.announcements.last?.sentence)
        #expect(sentence.hasPrefix("You were removed from Groceries"))
        #expect(try await alice.shown().open?.sharing == nil)
        #expect(try await alice.shown().rows.count == 2)
    }

    @Test func requesterJoinsAfterApproval() async throws {
        let (alice, _) = try await shoppers()
        try await alice.act(.setLink(access: .invited, takesRequests: true))
        let cy = try await world.device("cys-phone", user: "cy")
        let link = try #require(try await alice.shown().open?.sharing?.link)
        #expect(try await cy.act(.join(link: link)).isError)
        #expect(try await cy.act(.ask(link: link)).isError == false)
        try await alice.seen { $0.open?.sharing?.requests.isEmpty == false }
        try await alice.act(.answerRequests(approving: true))
        #expect(try await cy.act(.join(link: link)).isError == false)
        try await cy.act(.leave)
        #expect(try await cy.shown().lists.isEmpty)
    }

    @Test func itemIsNotedSortedMovedAndUndone() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: "Food"))
        try await phone.act(.add(text: "Milk; Butter; Eggs"))
        let ids = try await phone.shown().rows.map(\.id)
        try await phone.act(.moveUp(itemID: ids[2]))
        #expect(try await phone.shown().rows.map(\.name) == ["Milk", "Eggs", "Butter"])
        try await phone.act(.moveDown(itemID: ids[0]))
        #expect(try await phone.shown().rows.map(\.name) == ["Eggs", "Milk", "Butter"])
        #expect(
            try await phone.act(.moveDown(itemID: ids[1]))
                == PageAnswer("The item is at the bottom of its aisle already.", isError: true))
        try await phone.act(.note(itemID: ids[0], text: "2 pints"))
        try await phone.act(.category(itemID: ids[0], name: "Breakfast"))
        let milk = try #require(try await phone.shown().open?.sections.first)
        #expect(milk.name == "Breakfast" && milk.aisle == nil)
        #expect(milk.rows.map(\.note) == ["2 pints"])
        try await phone.act(.tick(itemID: ids[0]))
        let line = try #require(try await phone.activity().lines.first)
        #expect(line.sentence.hasPrefix("Milk ticked by somebody") && line.canUndo)
        #expect(try await phone.purchases(of: "milk").lines.count == 1)
        try await phone.act(.undo(eventID: line.id))
        #expect(try await phone.shown().row("Milk")?.isTicked == false)
    }

    @Test func pictureSyncsAndIsRemoved() async throws {
        let (alice, bob) = try await shoppers()
        let milk = try #require(try await alice.shown().row("Milk"))
        let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 7])
        let listID = try await alice.shown().open?.id
        #expect(
            await alice.setPicture(png, of: milk.id, in: listID)
                == PageAnswer("Milk has a picture."))
        let shown = try await bob.seen { $0.row("Milk")?.picture != nil }
        let picture = try #require(try await bob.picture(of: milk.id))
        #expect(picture.bytes == png && picture.kind == .png)
        let webp = Data("RIFF1234WEBP".utf8)
        #expect(await bob.setPicture(webp, of: milk.id, in: nil).isError == false)
        let again = try await alice.seen {
            $0.row("Milk")?.picture != shown.row("Milk")?.picture
        }
        #expect(again.row("Milk")?.picture != nil)
        #expect(try await alice.picture(of: milk.id)?.kind == .webp)
        try await alice.act(.removePicture(itemID: milk.id))
        #expect(try await alice.shown().row("Milk")?.picture == nil)
        try await bob.seen { $0.row("Milk")?.picture == nil }
        #expect(try await bob.picture(of: milk.id) == nil)
    }

    @Test func invalidPictureIsRefused() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: "Food"))
        try await phone.act(.add(text: "Milk"))
        let milk = try #require(try await phone.shown().row("Milk"))
        let jpeg = Data([0xFF, 0xD8, 0xFF])
        let scripts = "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"
        for (bytes, item, list) in [
            (Data(scripts.utf8), milk.id, nil), (Data(), milk.id, nil), (jpeg, "other", nil),
            (jpeg, milk.id, "another list"),
            (jpeg + Data(count: ShoppingLimits.pictureBytes), milk.id, nil),
        ] as [(Data, String, String?)] {
            #expect(await phone.setPicture(bytes, of: item, in: list).isError)
        }
        #expect(try await phone.shown().row("Milk")?.picture == nil)
        // A picture of another app that a browser cannot show.
        #expect(
            ["GIF89a", "RIFF....AVI ", "BM", "%PDF"].map { PictureKind(Data($0.utf8)) }
                == [.gif, nil, nil, nil])
    }

    @Test func refusedActionReturnsASentence() async throws {
        let phone = try await world.device("phone", user: nil)
        #expect(try await phone.act(.create(title: " ")).isError)
        #expect(
            try await phone.act(.tick(itemID: "x")).sentence
                == "No list is open; open one first.")
        try await phone.act(.create(title: "Food"))
        #expect(
            try await phone.act(.share)
                == PageAnswer("The lists stay on this device.", isError: true))
        #expect(
            try await phone.act(.join(link: "javascript:alert(1)")).isError)
        let stale = PageRequest(listID: "another", .add(text: "Milk"))
        #expect(await phone.perform(stale).isError)
        #expect(try await phone.shown().rows.isEmpty)
    }

    @Test func itemsThatAPasteLeavesOutAreCounted() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: "Food"))
        #expect(try await phone.act(.add(text: "Milk; Bread")) == PageAnswer())
        let lines = (1...ShoppingLimits.pastedLines + 2).map { "Item \($0)" }
        #expect(
            try await phone.act(.add(text: lines.joined(separator: "\n"))).sentence
                == "1000 items added. 2 more were left out; paste them on their own.")
    }

    @Test func syncWithARefusedChangeIsNotInStep() async throws {
        let phone = try await world.device("phone", user: "alice")
        try await phone.act(.create(title: "Food"))
        // More than fits into a record.
        let itemID = String(repeating: "much ", count: 300_000)
        try await phone.act(.note(itemID: itemID, text: "much"))
        let answer = try await phone.act(.sync)
        #expect(answer.isError)
        #expect(answer.sentence?.hasPrefix("Not synced: the service refused 1 change") == true)
        try await phone.act(.giveUpRefused)
        #expect(try await phone.act(.sync) == PageAnswer("In step with the service."))
    }

    @Test func duplicatesAreMergedAndBoughtItemsCleared() async throws {
        let phone = try await world.device("phone", user: nil)
        try await phone.act(.create(title: "Food"))
        try await phone.act(.add(text: "milk; Milk; Bread"))
        #expect(try await phone.shown().open?.duplicates == [["milk", "Milk"]])
        try await phone.act(.mergeDuplicates)
        let bread = try #require(try await phone.shown().row("Bread"))
        try await phone.act(.tick(itemID: bread.id))
        try await phone.act(.clearBought)
        #expect(try await phone.shown().rows.map(\.name) == ["milk"])
    }

    @Test func suggestionsComeFromCatalogue() async throws {
        let phone = try await world.device("phone", user: nil)
        #expect(phone.suggestions(for: "2 pints semi").map(\.name) == ["Semi-Skimmed Milk"])
        #expect(phone.suggestions(for: "").isEmpty)
    }
}
