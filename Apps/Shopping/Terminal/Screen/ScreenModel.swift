import ShoppingCore

/// What the terminal's screen shows and what keys do to it: no terminal, no clock, no store.
///
/// Keys change what only the screen knows, such as the cursor, and return what is to be done.
struct ScreenModel: Sendable {
    /// What takes the place of the list.
    enum Page: Hashable, Sendable {
        case list, help, activity, people, queue
    }

    /// What a key asks for; the session does it.
    enum Intent: Hashable, Sendable {
        case perform([ShoppingAction])
        case enter(ListScreen.Mode)
        case takeNotices
        case sync
        case goOnline, goOffline
        case open(Page)
        /// A line as the user types it at the prompt.
        case command(String)
        case quit
    }

    var screen: ListScreen
    /// Whether there is a list: others may delete it, or end its sharing, while it is shown.
    private(set) var hasList = true
    var page = Page.list
    /// The item at the cursor.
    var cursorID: String?
    /// What is being typed; nil when keys are commands.
    var input: String?
    /// Whether a command is being typed, not something to buy.
    var typesCommand = false
    /// Which suggestion is chosen, from 0; nil is the text itself.
    var suggestionIndex: Int?
    /// Whose change an item shows, by its identifier, until the next key.
    var changedBy: [String: String] = [:]
    /// Whether everything is sent; if not, why, and how much is pending.
    var syncLine = ""
    var isOnline = true
    /// The last message.
    var message = ""
    /// The lines of a page that is not the list.
    var pageLines: [String] = []
    var scroll = 0
    /// The chosen line of the share sheet.
    var sheetPlace = 0
    var shownPageLines: [String] { page == .help ? Self.help : pageLines }
    let catalogue: Catalogue

    init(screen: ListScreen, catalogue: Catalogue = .standard) {
        self.screen = screen
        self.catalogue = catalogue
        cursorID = rows.first?.id
    }

    /// The rows in the order in which they are drawn: by aisle.
    var rows: [ListScreen.Row] {
        hasList ? catalogue.sections(of: screen.rows).flatMap(\.rows) : []
    }

    var suggestions: [String] {
        guard let input, !input.isEmpty, !typesCommand else { return [] }
        return catalogue.suggestions(for: input, limit: 5).map(\.product.name)
    }

    /// Takes a list that changed; the cursor stays on its item.
    mutating func receive(_ screen: ListScreen, changedBy: [String: String] = [:]) {
        let place = rows.firstIndex { $0.id == cursorID } ?? 0
        self.screen = screen
        hasList = true
        self.changedBy.merge(changedBy) { _, new in new }
        let rows = rows
        if !rows.contains(where: { $0.id == cursorID }) {
            cursorID = rows.isEmpty ? nil : rows[min(place, rows.count - 1)].id
        }
    }

    /// Removes the list.
    mutating func close() {
        hasList = false
        cursorID = nil
    }

    // MARK: Keys

    /// Handles a key.
    mutating func press(_ key: ScreenKey) -> Intent? {
        message = ""
        changedBy = [:]
        if input != nil { return type(key) }
        if page == .people { return sheet(key) }
        if page != .list { return leaf(key) }
        switch key {
        case .up: move(-1)
        case .down: move(1)
        case .pageUp: move(-10)
        case .pageDown: move(10)
        case .home: move(-.max / 2)
        case .end: move(.max / 2)
        case .enter: return tick()
        case .delete, .backspace: return remove()
        case .character(let character): return command(character)
        case .escape, .tab: break
        }
        return nil
    }

    private mutating func command(_ character: Character) -> Intent? {
        switch character {
        case " ": return tick()
        case "a", "+": input = ""
        case ":":
            input = ""
            typesCommand = true
        case "d": return remove()
        case "m":
            return .enter(screen.mode == .planning ? .shopping : .planning)
        case "t": return screen.notices.isEmpty ? nil : .takeNotices
        case "c":
            let clearing = screen.list.clearingBought
            return clearing.isEmpty ? nil : .perform(clearing)
        case "s": return .sync
        case "o": return isOnline ? .goOffline : .goOnline
        case "h": return .open(.activity)
        case "p": return .open(.people)
        case "u": return .open(.queue)
        case "?": return .open(.help)
        case "q": return .quit
        default: message = "This key does nothing; ? shows what the keys do."
        }
        return nil
    }

    private mutating func move(_ count: Int) {
        let rows = rows
        guard !rows.isEmpty else { return }
        let place = rows.firstIndex { $0.id == cursorID } ?? 0
        cursorID = rows[min(max(place + count, 0), rows.count - 1)].id
    }

    private var row: ListScreen.Row? { rows.first { $0.id == cursorID } }

    private func tick() -> Intent? {
        guard let row, !row.isRemoved else { return nil }
        return .perform([row.item.isTicked ? .untick(itemID: row.id) : .tick(itemID: row.id)])
    }

    private func remove() -> Intent? {
        guard let row, !row.isRemoved else { return nil }
        return .perform([.remove(itemID: row.id)])
    }

    private mutating func leaf(_ key: ScreenKey) -> Intent? {
        let last = max(0, shownPageLines.count - 1)
        switch key {
        case .up: scroll = max(0, scroll - 1)
        case .down: scroll = min(last, scroll + 1)
        case .pageUp: scroll = max(0, scroll - 10)
        case .pageDown: scroll = min(last, scroll + 10)
        default:
            page = .list
            scroll = 0
        }
        return nil
    }

    private mutating func type(_ key: ScreenKey) -> Intent? {
        defer { if input == nil { typesCommand = false } }
        let typed = input ?? ""
        let suggestions = suggestions
        switch key {
        case .escape: input = nil
        case .backspace: input = typed.isEmpty ? nil : String(typed.dropLast())
        case .character(let character): input = typed + String(character)
        case .tab, .down:
            guard !suggestions.isEmpty else { return nil }
            suggestionIndex = ((suggestionIndex ?? -1) + 1) % suggestions.count
            return nil
        case .up:
            suggestionIndex = suggestionIndex.flatMap { $0 > 0 ? $0 - 1 : nil }
            return nil
        case .enter where typesCommand:
            input = nil
            return typed.isEmpty ? nil : .command(typed)
        case .enter:
            let chosen = suggestionIndex.flatMap {
                suggestions.indices.contains($0) ? suggestions[$0] : nil
            }
            let names = Command.parts(chosen ?? typed)
            suggestionIndex = nil
            guard !names.isEmpty else {
                input = nil
                return nil
            }
            input = ""
            return .perform([.add(names: names, afterItemID: screen.list.items.last?.id)])
        default: return nil
        }
        suggestionIndex = nil
        return nil
    }
}
