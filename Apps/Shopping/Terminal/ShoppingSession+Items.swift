import ShoppingCore

/// What the user does to the open list.
extension ShoppingSession {
    private func finder(_ list: ShoppingList) -> ItemFinder {
        ItemFinder(items: list.items, numberedIDs: numberedItemIDs)
    }

    /// The items that a text names: one, several between semicolons, or several numbers.
    private func items(_ text: String, in list: ShoppingList) throws -> [ShoppingItem] {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        let parts =
            words.allSatisfy { Int($0) != nil } ? words : Command.parts(text)
        let finder = finder(list)
        return try parts.map { try finder.item($0) }
    }

    private func perform(_ actions: [ShoppingAction], _ listID: ListID) async throws {
        try await store.perform(actions, in: listID)
        await refresh()
    }

    private func change(
        _ text: String, _ participle: String, _ action: (String) -> ShoppingAction
    ) async throws -> String {
        let (listID, list) = try await openedList()
        let items = try items(text, in: list)
        try await perform(items.map { action($0.id) }, listID)
        return items.map { "\(ListText.oneLine($0.name)) \(participle)." }.joined(separator: "\n")
    }

    func tick(_ text: String) async throws -> String {
        try await change(text, "ticked") { .tick(itemID: $0) }
    }

    func untick(_ text: String) async throws -> String {
        try await change(text, "unticked") { .untick(itemID: $0) }
    }

    func remove(_ text: String) async throws -> String {
        try await change(text, "removed") { .remove(itemID: $0) }
    }

    func add(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        var typed = text
        var afterItemID = list.items.last?.id
        if let (left, right) = Command.cuts(text, at: "after").first {
            do {
                afterItemID = try finder(list).item(right).id
                typed = left
            } catch {
                // "Cream after sun" may be a product: then it is quoted.
                guard isQuoted(text) else { throw error }
            }
        }
        if isQuoted(typed) { typed = String(typed.dropFirst().dropLast()) }
        let names = Command.parts(typed).map {
            String($0.prefix(ShoppingLimits.nameCharacters))
        }
        guard !names.isEmpty else {
            throw CannotDo("Nothing to buy was named; type add and what to buy.")
        }
        try await perform([.add(names: names, afterItemID: afterItemID)], listID)
        return names.map { "\(ListText.oneLine($0)) added (\(catalogue.aisle(of: $0).name))." }
            .joined(separator: "\n")
    }

    private func isQuoted(_ text: String) -> Bool {
        text.count > 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
    }

    func addPasted(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let pasted = PastedText(text)
        guard !pasted.names.isEmpty else {
            return "Nothing was pasted; type paste, then one item a line."
        }
        try await perform(
            [.add(names: pasted.names, afterItemID: list.items.last?.id)], listID)
        let rest =
            pasted.leftOutCount == 0
            ? "" : " \(pasted.leftOutCount) more were left out; paste them on their own."
        return "\(counted(pasted.names.count)) added.\(rest)"
    }

    func copy(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let other = try await findList(text)
        guard other.id != listID else {
            throw CannotDo(
                "\(ListText.oneLine(other.title)) is the open list; name another one to copy from.")
        }
        let present = Set(list.items.map { $0.name.lowercased() })
        let names = other.items.filter { !present.contains($0.name.lowercased()) }.map(\.text)
        if !names.isEmpty {
            try await perform([.add(names: names, afterItemID: list.items.last?.id)], listID)
        }
        let skipped = other.items.count - names.count
        return "\(counted(names.count)) copied from \(ListText.oneLine(other.title))"
            + (skipped == 0 ? "." : "; \(skipped) were here already.")
    }

    private func counted(_ count: Int) -> String { count == 1 ? "1 item" : "\(count) items" }

    func rename(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let cuts = Command.cuts(text, at: "to")
        guard let last = cuts.first else {
            throw CannotDo("No new name was given; type rename ITEM to NEW NAME.")
        }
        let finder = finder(list)
        // A name may have "to" in it: the cut whose left side is an item is the right one.
        for (left, right) in cuts {
            // Not an item: another cut may be, and after the last one the error is thrown.
            guard let item = try? finder.item(left) else { continue }
            let name = String(right.prefix(ShoppingLimits.nameCharacters))
            try await perform([.rename(itemID: item.id, name: name)], listID)
            return "\(ListText.oneLine(item.name)) renamed to \(ListText.oneLine(name))."
        }
        _ = try finder.item(last.left)
        return ""
    }

    func move(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let finder = finder(list)
        let words = text.split(whereSeparator: \.isWhitespace)
        if words.count > 1, words.last?.lowercased() == "first" {
            let item = try finder.item(words.dropLast().joined(separator: " "))
            try await perform([.move(itemID: item.id, afterItemID: nil)], listID)
            return "\(ListText.oneLine(item.name)) moved to the start."
        }
        guard let (left, right) = Command.cuts(text, at: "after").last else {
            throw CannotDo(
                "No new place was named; type move ITEM after OTHER ITEM, or move ITEM first.")
        }
        let (item, other) = (try finder.item(left), try finder.item(right))
        guard item.id != other.id else {
            throw CannotDo(
                "\(ListText.oneLine(item.name)) cannot follow itself; name another item.")
        }
        try await perform([.move(itemID: item.id, afterItemID: other.id)], listID)
        return "\(ListText.oneLine(item.name)) moved after \(ListText.oneLine(other.name))."
    }

    func retitle(_ title: String) async throws -> String {
        let (listID, _) = try await openedList()
        let title = String(title.prefix(ShoppingLimits.nameCharacters))
        try await perform([.renameList(title: title)], listID)
        return "The list is now called \(ListText.oneLine(title))."
    }

    func recolour(_ colour: String) async throws -> String {
        let (listID, _) = try await openedList()
        let colour = String(colour.prefix(ShoppingLimits.nameCharacters))
        try await perform([.recolour(colour: colour)], listID)
        return "The list is now \(ListText.oneLine(colour))."
    }

    func suggest(_ text: String) -> String {
        let suggestions = catalogue.suggestions(for: text)
        guard !suggestions.isEmpty else { return "No product name begins with \"\(text)\"." }
        return suggestions.map { "\($0.product.name) (\($0.product.aisle.name))" }
            .joined(separator: "\n")
    }
}
