import ShoppingCore

/// Which list is open, and what is shown of it.
extension ShoppingSession {
    func open(_ listID: ListID) async {
        guard let list = await store.list(listID) else { return }
        if openListID != listID { forgetNumbers() }
        openListID = listID
        wantedTitle = nil
        // The mode, and the pending notices, are as they were left; a file that cannot be read opens as new.
        screen =
            (try? await store.screen(of: listID))
            ?? ListScreen(list: list, deviceID: store.deviceID)
        folder.remember(openListID: listID.description)
    }

    func close() {
        openListID = nil
        screen = nil
        forgetNumbers()
    }

    private func forgetNumbers() {
        (numberedItemIDs, numberedPersonIDs, shownRequesterIDs) = ([], [], nil)
    }

    /// Brings the screen up to the newest list.
    func refresh() async {
        guard let openListID, let list = await store.list(openListID) else { return }
        screen?.receive(list)
        await keepScreen()
    }

    /// Keeps the mode and the notices for the next start.
    private func keepScreen() async {
        guard let openListID, let screen else { return }
        // Only a convenience is lost.
        try? await store.keep(screen, of: openListID)
    }

    /// The open list in its current state.
    func openedList() async throws -> (id: ListID, list: ShoppingList) {
        if openListID == nil { await openOnlyList() }
        guard let openListID, let list = await store.list(openListID) else {
            if let wantedTitle {
                throw CannotDo(
                    "The list \(wantedTitle) is not here yet; type sync, or new \(wantedTitle).")
            }
            throw CannotDo(
                await store.lists.isEmpty
                    ? noListSentence : "No list is open; type lists, then open and a title.")
        }
        return (openListID, list)
    }

    /// Opens the only list there is, when no other was asked for.
    func openOnlyList() async {
        let lists = await store.lists
        if wantedTitle == nil, lists.count == 1, let only = lists.first { await open(only.id) }
    }

    /// Opens a list that is here, or waits for it.
    func openOrAwait(_ title: String) async -> String {
        let lists = await store.lists
        // If several have the same title, none is opened.
        if let list = try? Self.list(called: title, of: lists) {
            await open(list.id)
            return "\(ListText.oneLine(list.title)) is open."
        }
        wantedTitle = title
        return "There is no list \(title) here yet; it opens when it appears, or type new \(title)."
    }

    func make(_ title: String) async throws -> String {
        // Another person's list may have any title, and does not prevent creating one with the same.
        let own = await store.lists.filter(\.id.isOwn)
        if own.contains(where: { $0.title.lowercased() == title.lowercased() }) {
            throw CannotDo("There is a list \(title) already; type open \(title).")
        }
        await open(try await store.create(title: title))
        return "The list \(title) is made and open."
    }

    func openList(_ text: String) async throws -> String {
        let list = try await findList(text)
        await open(list.id)
        return "\(ListText.oneLine(list.title)) is open."
    }

    /// The list with a title, the user's own if another person's has the same; nil if there is none.
    private static func list(
        called title: String, of lists: [ShoppingList]
    ) throws -> ShoppingList? {
        let called = lists.filter { $0.title.lowercased() == title.lowercased() }
        let own = called.filter(\.id.isOwn)
        if called.count < 2 || own.count == 1 { return own.first ?? called.first }
        throw CannotDo("Several lists are called \"\(title)\"; type lists and use a number.")
    }

    func findList(_ text: String) async throws -> ShoppingList {
        let lists = await store.lists
        let wanted = text.lowercased()
        if let list = try Self.list(called: text, of: lists) { return list }
        // The smallest integer has none before it.
        if let number = Int(text), numberedListIDs.indices.contains(number &- 1),
            let list = lists.first(where: { $0.id == numberedListIDs[number - 1] })
        {
            return list
        }
        let found = lists.filter { $0.title.lowercased().hasPrefix(wanted) }
        guard let list = found.first, found.count == 1 else {
            throw CannotDo(
                found.isEmpty
                    ? "There is no list \"\(text)\"; type lists to see them."
                    : "Several lists begin with \"\(text)\"; type lists and use a number.")
        }
        return list
    }

    func allLists() async -> String {
        let lists = await store.lists
        numberedListIDs = lists.map(\.id)
        guard !lists.isEmpty else { return noListSentence }
        var lines: [String] = []
        for (index, list) in lists.enumerated() {
            let mark = list.id == openListID ? ">" : " "
            // Another person's list must not be mistaken for the user's own list of the same title.
            let owner = list.id.isOwn ? nil : await store.sharing(of: list.id)?.owner?.name
            lines.append(
                "\(mark) \(index + 1) \(ListText.oneLine(list.title)) "
                    + (owner.map { "of \(ListText.oneLine($0)) " } ?? "")
                    + "(\(list.unticked.count) to buy)")
        }
        return lines.joined(separator: "\n")
    }

    private var noListSentence: String {
        ["There is no list yet; type new and a title.", account.signInElsewhere]
            .compactMap(\.self).joined(separator: " ")
    }

    func show() async throws -> String {
        _ = try await openedList()
        await refresh()
        guard let screen else { return "" }
        let text = ListText(catalogue: catalogue, numbersRows: true)
        numberedItemIDs = text.rows(of: screen).map(\.id)
        return text.render(screen)
    }

    // MARK: In the shop

    func enter(_ mode: ListScreen.Mode) async throws -> String {
        _ = try await openedList()
        await refresh()
        screen?.enter(mode)
        await keepScreen()
        return mode == .shopping
            ? "Shopping: rows stay in place; what others add waits as notices."
            : "Planning: every change is shown immediately."
    }

    func showNotices() async throws -> String {
        _ = try await openedList()
        await refresh()
        let notices = screen?.notices ?? []
        guard !notices.isEmpty else { return "No notices wait on this list." }
        return notices.enumerated().map { index, item in
            "\(index + 1) \(ListText.oneLine(item.name)) (added by \(ListText.oneLine(item.addedBy)))"
        }.joined(separator: "\n")
    }

    func takeNotice(_ text: String) async throws -> String {
        _ = try await openedList()
        await refresh()
        if text.lowercased() == "all" {
            screen?.acceptAllNotices()
            await keepScreen()
            return "All notices are on the list."
        }
        let notices = screen?.notices ?? []
        let item = try ItemFinder(items: notices, numberedIDs: notices.map(\.id)).item(text)
        screen?.accept(noticeOf: item.id)
        await keepScreen()
        return "\(ListText.oneLine(item.name)) is on the list."
    }
}
