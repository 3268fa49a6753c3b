import ShoppingCore
import TestSeeds
import Testing

@Suite struct ListScreenTests {
    private let start = [
        alice.add("milk", after: nil, at: 1), alice.add("bread", after: "milk", at: 2),
        alice.add("eggs", after: "bread", at: 3),
    ]

    private func screen(_ mode: ListScreen.Mode) -> ListScreen {
        ListScreen(list: list(start), deviceID: "Alice 1", mode: mode)
    }

    private func rows(_ screen: ListScreen) -> [String] {
        screen.rows.map(\.item.name)
    }

    @Test func planningModeAppliesChangesAtOnce() {
        var screen = screen(.planning)
        screen.receive(
            list(start + [bob.add("tea", after: "milk", at: 10), bob.remove("bread", at: 11)]))
        #expect(rows(screen) == ["milk", "tea", "eggs"])
        #expect(screen.notices.isEmpty)
    }

    @Test func shoppingShowsAdditionsAsNotices() {
        var screen = screen(.shopping)
        screen.receive(
            list(
                start + [
                    bob.add("tea", after: "milk", at: 10), bob.add("jam", after: "tea", at: 11),
                ]))
        #expect(rows(screen) == ["milk", "bread", "eggs"])
        #expect(screen.notices.map(\.name) == ["tea", "jam"])
        screen.accept(noticeOf: "jam")
        #expect(rows(screen) == ["milk", "jam", "bread", "eggs"])
        #expect(screen.notices.map(\.name) == ["tea"])
        screen.accept(noticeOf: "nothing")
        screen.acceptAllNotices()
        #expect(rows(screen) == ["milk", "tea", "jam", "bread", "eggs"])
        #expect(screen.notices.isEmpty)
    }

    @Test func shoppingUpdatesRowsInPlace() {
        var screen = screen(.shopping)
        screen.receive(
            list(
                start + [
                    bob.tick("bread", at: 10), bob.rename("milk", to: "oat milk", at: 11),
                    bob.remove("eggs", at: 12), bob.move("bread", after: nil, at: 13),
                ]))
        #expect(rows(screen) == ["oat milk", "bread", "eggs"])
        #expect(screen.rows.map(\.item.isTicked) == [false, true, false])
        #expect(screen.rows.map(\.isRemoved) == [false, false, true])
    }

    @Test func ownAdditionShowsAtOnce() {
        var screen = screen(.shopping)
        screen.receive(list(start + [alice.add("tea", after: nil, at: 10)]))
        #expect(rows(screen) == ["tea", "milk", "bread", "eggs"])
        #expect(screen.notices.isEmpty)
    }

    /// Names are only shown: a device is recognised by its identifier.
    @Test func deviceIsRecognizedByIdentifierNotName() {
        var screen = screen(.shopping)
        let other = Person("Bob", device: "Alice's phone")
        // An entry of an app without device identifiers does not count as this device's either.
        let older = ListJournalWriter(listID: "weekly", device: "Alice's phone", author: "Alice")
        screen.receive(
            list(
                start + [
                    other.add("tea", after: nil, at: 10),
                    older.add("jam", itemID: "jam", after: "tea", id: "old", at: 11),
                ]))
        #expect(rows(screen) == ["milk", "bread", "eggs"])
        #expect(screen.notices.map(\.name) == ["tea", "jam"])
    }

    @Test func acceptedItemStaysAndRemovedNoticeDisappears() {
        var screen = screen(.shopping)
        let more =
            start + [
                bob.add("tea", after: "milk", at: 10), bob.add("jam", after: "tea", at: 11),
            ]
        screen.receive(list(more))
        screen.accept(noticeOf: "tea")
        screen.receive(list(more + [bob.remove("jam", at: 12), bob.tick("tea", at: 13)]))
        #expect(rows(screen) == ["milk", "tea", "bread", "eggs"])
        #expect(screen.rows[1].item.isTicked)
        #expect(screen.notices.isEmpty)
    }

    @Test func changingTheModeShowsTheNewestList() {
        var screen = screen(.shopping)
        screen.receive(
            list(start + [bob.add("tea", after: nil, at: 10), bob.remove("milk", at: 11)]))
        screen.enter(.planning)
        #expect(rows(screen) == ["tea", "bread", "eggs"])
        #expect(screen.notices.isEmpty)
        #expect(screen.mode == .planning)
    }

    @Test(arguments: Seeds.forTest("ListScreenTests", count: 5))
    func everyItemIsARowOrANotice(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var journal = Journal(listID: "weekly", entries: start)
        var screen = screen(.shopping)
        for number in 0..<200 {
            let person = [alice, bob].randomElement(using: &generator) ?? bob
            let items = journal.list().items
            let some = items.randomElement(using: &generator)?.id
            let time = journal.editTime(nowMilliseconds: 1)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: journal.insert(person.remove(some ?? "none", at: time))
            case 1: journal.insert(person.move(some ?? "none", after: nil, at: time))
            default: journal.insert(person.add("n\(number)", after: some, at: time))
            }
            screen.receive(journal.list())
            if number.isMultiple(of: 17), let notice = screen.notices.first {
                screen.accept(noticeOf: notice.id)
            }
            let shown = screen.rows.filter { !$0.isRemoved }.map(\.id) + screen.notices.map(\.id)
            #expect(shown.sorted() == journal.list().items.map(\.id).sorted())
        }
    }
}
