import Foundation
import ShoppingCore

/// The activity, refused changes, and tidying.
extension ShoppingSession {
    /// Lines of the activity that are shown at a time.
    private static let shownLines = 20

    private static func day(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            .formatted(.iso8601.year().month().day().dateSeparator(.dash))
    }

    func showActivity() async throws -> String {
        let (listID, _) = try await openedList()
        let lines = ActivityHistory(try await store.activity(of: listID)).lines
        undoable = lines.suffix(Self.shownLines).reversed()
        guard !undoable.isEmpty else { return "Nothing has happened on this list yet." }
        return undoable.enumerated().map { index, line in
            let mark = line.undo == nil ? "" : " (undo \(index + 1))"
            return "\(Self.day(line.event.milliseconds)) \(line.sentence)\(mark)"
        }.joined(separator: "\n")
    }

    func undo(_ text: String) async throws -> String {
        let (listID, _) = try await openedList()
        if undoable.isEmpty { _ = try await showActivity() }
        // The smallest integer has none before it.
        guard let number = Int(text), undoable.indices.contains(number &- 1) else {
            throw CannotDo(
                "No action was named by its number; type activity, then undo and a number.")
        }
        let line = undoable[number - 1]
        guard let action = line.undo else {
            throw CannotDo("Action \(number) cannot be taken back: \(line.sentence).")
        }
        try await store.perform([action], in: listID)
        await refresh()
        return "Taken back: \(line.sentence)."
    }

    func history(of product: String) async throws -> String {
        let (listID, _) = try await openedList()
        let bought = ActivityHistory(try await store.activity(of: listID))
            .purchases(of: product, catalogue: catalogue)
        guard !bought.isEmpty else { return "This device knows of no purchase of \(product)." }
        return bought.prefix(Self.shownLines).map {
            "\(Self.day($0.event.milliseconds)) \($0.sentence)"
        }.joined(separator: "\n")
    }

    // MARK: Refused changes

    func showRefused() async throws -> String {
        let changes = try await store.refusedChanges()
        guard !changes.isEmpty else { return "The service has refused no change." }
        return changes.enumerated().map { "\($0 + 1) \($1.sentence)" }.joined(separator: "\n")
            + "\nType retry to send them again, or giveup to drop them."
    }

    func resolveRefused(retrying: Bool) async throws -> String {
        let changes = try await store.refusedChanges()
        guard !changes.isEmpty else { return "The service has refused no change." }
        if retrying {
            try await store.retry(changes)
            return "The refused changes are sent again."
        }
        try await store.giveUp(changes)
        await refresh()
        return "The refused changes are dropped."
    }

    // MARK: Tidying

    func clearBought() async throws -> String {
        let (listID, list) = try await openedList()
        let actions = list.clearingBought
        guard !actions.isEmpty else { return "No item on the list is marked as bought." }
        try await store.perform(actions, in: listID)
        await refresh()
        return actions.count == 1 ? "1 item cleared." : "\(actions.count) items cleared."
    }

    func showDuplicates(merging: Bool) async throws -> String {
        let (listID, list) = try await openedList()
        let groups = list.duplicates
        guard !groups.isEmpty else { return "No item is on the list twice." }
        let lines = groups.map { group in
            group.map { ListText.oneLine($0.name) }.joined(separator: " = ")
        }
        guard merging else {
            let advice =
                "These items are on the list more than once; merge keeps the first of each."
            return (lines + [advice]).joined(separator: "\n")
        }
        try await store.perform(groups.flatMap { list.merging($0) }, in: listID)
        await refresh()
        return (["Merged:"] + lines).joined(separator: "\n")
    }

    func annotate(
        _ text: String, at word: String, _ action: (String, String) -> ShoppingAction
    ) async throws -> String {
        let (listID, list) = try await openedList()
        let finder = ItemFinder(items: list.items, numberedIDs: numberedItemIDs)
        let cut = Command.cuts(text, at: word).last
        let item = try finder.item(cut?.left ?? text)
        let value = String((cut?.right ?? "").prefix(ShoppingLimits.nameCharacters))
        try await store.perform([action(item.id, value)], in: listID)
        await refresh()
        return value.isEmpty
            ? "\(ListText.oneLine(item.name)): as before."
            : "\(ListText.oneLine(item.name)): \(ListText.oneLine(value))."
    }

    func count(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        guard let (left, right) = Command.cuts(text, at: "is").last,
            let number = Int(right), Quantity.range.contains(number)
        else {
            throw CannotDo(
                "No count from 1 to \(Quantity.range.upperBound) was named; type count ITEM is NUMBER."
            )
        }
        let item = try ItemFinder(items: list.items, numberedIDs: numberedItemIDs).item(left)
        try await store.perform([.quantity(itemID: item.id, number)], in: listID)
        await refresh()
        return "\(ListText.oneLine(Quantity.text(number, item.name)))."
    }

    func setPicture(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let finder = ItemFinder(items: list.items, numberedIDs: numberedItemIDs)
        guard let (left, path) = Command.cuts(text, at: "is").last else {
            let item = try finder.item(text)
            try await store.perform([.removePicture(itemID: item.id)], in: listID)
            await refresh()
            return "\(ListText.oneLine(item.name)) has no picture any more."
        }
        let item = try finder.item(left)
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CannotDo("The file \(path) cannot be read; give the path of a picture.")
        }
        try await store.setPicture(URL(fileURLWithPath: path), of: item.id, in: listID)
        await refresh()
        return "\(ListText.oneLine(item.name)) has a picture."
    }

    func showPicture(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        let item = try ItemFinder(items: list.items, numberedIDs: numberedItemIDs).item(text)
        guard let file = try await store.picture(of: item.id, in: listID) else {
            return "\(ListText.oneLine(item.name)) has no picture."
        }
        return file.path
    }

    func choose(_ text: String) async throws -> String {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace)
        guard words.allSatisfy({ ["adds", "ticks", "nothing"].contains($0) }) else {
            throw CannotDo(
                "There is no notification \"\(text)\"; type notify adds, notify ticks, notify adds ticks "
                    + "or notify nothing.")
        }
        let choice = NotificationChoice(
            tellsAdds: words.contains("adds"), tellsTicks: words.contains("ticks"))
        try await store.choose(choice)
        return "You will be notified of \(choice == NotificationChoice() ? "nothing" : text)."
    }

    func refetch() async throws -> String {
        try await store.refetchEverything()
        return try await syncNow()
    }

    /// Whether a sign-in is kept on this device, which signing out ends.
    nonisolated var isSignedIn: Bool {
        if case .signedIn = account.credential { true } else { false }
    }

    func signOut(_ text: String) async throws -> String {
        guard account.localOnlyReason == nil else {
            throw CannotDo("No user is signed in on this device; to sign in, run shopping sign-in.")
        }
        guard ["", "anyway"].contains(text) else {
            throw CannotDo(
                "\"signout \(text)\" is not a command, and you are still signed in; type signout, or signout anyway."
            )
        }
        do {
            return signedOut(losing: try await store.signOut(sendingFirst: text.isEmpty))
        } catch let error as ShoppingStore.SessionNotEnded {
            return signedOut(losing: error.unsentCount) + " \(error)"
        } catch {
            let refused = try await store.status().attentionCount
            guard refused == 0 else {
                let changes = refused == 1 ? "1 change" : "\(refused) changes"
                throw CannotDo(
                    "Nothing is removed: the service refused \(changes). Type refused in shopping to "
                        + "decide, or type signout anyway to lose what was refused.")
            }
            throw CannotDo(
                "Nothing is removed: not everything could be sent. Try again with the service in reach, or type "
                    + "signout anyway to lose what was not sent. \(error)")
        }
    }

    private func signedOut(losing lost: Int) -> String {
        isSignedOut = true
        close()
        return lost == 0
            ? "Your lists are removed from this device; they come back when you sign in."
            : "Your lists are removed from this device, and \(lost == 1 ? "1 change" : "\(lost) changes") "
                + "with them."
    }
}
