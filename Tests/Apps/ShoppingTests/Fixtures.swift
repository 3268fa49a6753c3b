import ShoppingCore
import StratusTesting

/// Creates entries with short names, so that tests are easy to read.
struct Person {
    let writer: ListJournalWriter

    /// - Parameter device: the device's name.
    init(_ name: String, device: String? = nil) {
        writer = ListJournalWriter(
            listID: "weekly", device: device ?? "\(name)'s phone", deviceID: "\(name) 1",
            author: name)
    }

    func add(_ item: String, after: String?, at time: Int64) -> JournalEntry {
        writer.add(item, itemID: item, after: after, id: id("add", item, time), at: time)
    }

    func tick(_ item: String, at time: Int64) -> JournalEntry {
        writer.tick(item, id: id("tick", item, time), at: time)
    }

    func untick(_ item: String, at time: Int64) -> JournalEntry {
        writer.untick(item, id: id("untick", item, time), at: time)
    }

    func remove(_ item: String, at time: Int64) -> JournalEntry {
        writer.remove(item, id: id("remove", item, time), at: time)
    }

    func rename(_ item: String, to name: String, at time: Int64) -> JournalEntry {
        writer.rename(item, to: name, id: id("rename", item, time), at: time)
    }

    func renameList(to title: String, at time: Int64) -> JournalEntry {
        writer.renameList(to: title, id: id("rename", "list", time), at: time)
    }

    func move(_ item: String, after: String?, at time: Int64) -> JournalEntry {
        writer.reorder(item, after: after, id: id("reorder", item, time), at: time)
    }

    private func id(_ action: String, _ item: String, _ time: Int64) -> String {
        "\(writer.author)-\(action)-\(item)-\(time)"
    }
}

let alice = Person("Alice")
let bob = Person("Bob")

func list(_ entries: [JournalEntry]) -> ShoppingList {
    Journal(listID: "weekly", entries: entries).list()
}

func names(_ entries: [JournalEntry]) -> [String] {
    list(entries).items.map(\.name)
}

typealias SeededGenerator = SeededNumbers
