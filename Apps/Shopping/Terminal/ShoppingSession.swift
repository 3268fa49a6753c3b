import AppDevice
import Foundation
import ShoppingCore
import StratusCache
import StratusRuntime

/// One user at one device: the open list, its screen, and what each command does.
actor ShoppingSession {
    /// Seconds to wait at the end for changes to be sent.
    static let farewellSeconds: Double = 2

    let store: ShoppingStore
    let folder: DeviceFolder
    let account: Account
    let terminal: TerminalOutput
    let deviceName: String
    /// A notice about lists that an earlier release kept here; nil when there are none.
    let formerListsNotice: String?
    let catalogue = Catalogue.standard

    var isOpen = true
    var isOnline = true
    var openListID: ListID?
    var screen: ListScreen?
    /// The list to open as soon as it appears.
    var wantedTitle: String?
    /// The screen over the whole terminal, and what draws it; nil while lines are typed.
    var model: ScreenModel?
    var drawing: (@Sendable (ScreenModel) -> Void)?
    /// What the last `activity` showed.
    var undoable: [ActivityHistory.Line] = []
    /// Whether only answers are printed.
    private var isQuiet = false
    /// Whether the account's lists are removed, and the store closed.
    var isSignedOut = false
    /// What the numbers of the last `show`, `people` and `lists` stand for.
    var numberedItemIDs: [String] = []
    var numberedPersonIDs: [String] = []
    /// Who asked to join when the people were shown last; nil before that.
    var shownRequesterIDs: [String]?
    var numberedListIDs: [ListID] = []
    private var pastedLines: [String]?
    private var watching: Task<Void, Never>?

    init(
        store: ShoppingStore, folder: DeviceFolder, account: Account, terminal: TerminalOutput,
        deviceName: String, formerListsNotice: String? = nil
    ) {
        self.store = store
        self.folder = folder
        self.account = account
        self.terminal = terminal
        self.deviceName = deviceName
        self.formerListsNotice = formerListsNotice
    }

    var promptText: String {
        if pastedLines != nil { return "  " }
        return (screen.map { ListText.oneLine($0.list.title) } ?? "shopping") + "> "
    }

    /// Opens the list and starts to sync.
    func begin(listTitle: String?, isOnline: Bool) async {
        let changes = await store.changes()
        watching = Task { for await change in changes { await self.printChange(change) } }
        self.isOnline = isOnline
        var lines = [account.localOnlyReason, formerListsNotice].compactMap { $0 }
        if await store.needsNewerApp { lines.append(Self.newerAppSentence) }
        if let listTitle {
            lines.append(await openOrAwait(listTitle))
        } else if let remembered = folder.notes.openListID.map(ListID.init(text:)),
            await store.list(remembered) != nil
        {
            await open(remembered)
        } else {
            await openOnlyList()
        }
        if terminal.isInteractive, !isQuiet {
            for line in lines { terminal.announce(line) }
            terminal.announce(
                openListID == nil && wantedTitle == nil
                    ? "No list is open; type new and a title to make one, or help."
                    : "The word help shows the commands.")
        }
        if account.localOnlyReason == nil {
            if !isOnline { await store.setOnline(false) }
            await store.start()
        }
    }

    /// The same for one command, whose answer is all that is printed.
    func beginQuietly(listTitle: String?, isOnline: Bool) async {
        isQuiet = true
        await begin(listTitle: listTitle, isOnline: isOnline)
    }

    /// Sends what can be sent quickly, then closes the file.
    func end() async throws {
        guard !isSignedOut else {
            await watching?.value
            return
        }
        let store = store
        if account.localOnlyReason == nil, isOnline, try await store.hasUnsent {
            // Not reaching the service now, or in time, loses nothing: the next start sends it.
            try? await World.live.withTimeout(
                seconds: Self.farewellSeconds, throwing: CancellationError()
            ) { try await store.sync() }
        }
        try await store.close()
        await watching?.value
    }

    /// Runs the command of a line and prints the result.
    func take(line: String) async {
        terminal.lineEntered()
        do {
            if pastedLines != nil {
                if let text = try await takePasted(line) { terminal.answer(text) }
                return
            }
            let command = try Command(line)
            if command == .paste {
                _ = try await openedList()
                pastedLines = []
                if terminal.isInteractive {
                    terminal.answer("One item a line; an empty line ends it.")
                }
                return
            }
            if command == .nothing, terminal.isInteractive { return }
            terminal.answer(try await answer(to: command).shownInTerminal)
        } catch {
            terminal.answer("\(error)".shownInTerminal)
        }
    }

    /// - Returns: the answer at the empty line that ends the paste.
    private func takePasted(_ line: String) async throws -> String? {
        guard !Command.trimmed(line).isEmpty else {
            let text = (pastedLines ?? []).joined(separator: "\n")
            pastedLines = nil
            return try await addPasted(text)
        }
        pastedLines?.append(line)
        return nil
    }

    func answer(to command: Command) async throws -> String {
        switch command {
        case .nothing, .paste: return ""
        case .help: return Command.helpText
        case .lists: return await allLists()
        case .new(let title): return try await make(title)
        case .open(let list): return try await openList(list)
        case .show: return try await show()
        case .notices: return try await showNotices()
        case .take(let text): return try await takeNotice(text)
        case .planning: return try await enter(.planning)
        case .shopping: return try await enter(.shopping)
        case .suggest(let text): return suggest(text)
        case .add(let text): return try await add(text)
        case .tick(let text): return try await tick(text)
        case .untick(let text): return try await untick(text)
        case .remove(let text): return try await remove(text)
        case .rename(let text): return try await rename(text)
        case .move(let text): return try await move(text)
        case .title(let title): return try await retitle(title)
        case .colour(let colour): return try await recolour(colour)
        case .copy(let list): return try await copy(list)
        case .offline: return try await goOffline()
        case .online: return try await goOnline()
        case .sync: return try await syncNow()
        case .status: return try await status()
        case .quit:
            isOpen = false
            return ""
        default: return try await answerFurther(to: command)
        }
    }

    /// Prints what another device did, and updates the open list.
    private func printChange(_ change: ShoppingChange) async {
        if change.listID == openListID {
            if change.endsList {
                close()
            } else {
                await refresh()
            }
        }
        // The results of commands here were printed already.
        guard ![.left, .deletedHere].contains(change.kind) else { return }
        let notification = await store.notification(of: change)
        var line = "* " + change.sentence
        if !change.namesItsList, change.listID != openListID {
            line += " in \(ListText.oneLine(change.listTitle))"
        }
        if isQuiet { return }
        if let notification {
            // The terminal's bell; the notification's text is in the line.
            if terminal.isInteractive { terminal.ring() }
            line = "! " + notification
        }
        if drawing != nil {
            model?.message = line
            let mark = change.listID == openListID ? change.itemID : nil
            await draw(changedBy: mark.map { [$0: change.author] } ?? [:])
        } else {
            terminal.announce(line)
        }
        if change.kind == .listAppeared, let wanted = wantedTitle, let listID = change.listID,
            change.listTitle.lowercased() == wanted.lowercased()
        {
            await open(listID)
        }
    }
}
