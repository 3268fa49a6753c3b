// Invariants
// 1. Planning: the rows are the list. Shopping: no row moves or vanishes under the person's finger.
// 2. Every item of the newest list is either a row or a notice, never both, never neither.

/// What a person sees of a list: planning applies changes immediately, shopping announces additions.
public struct ListScreen: Hashable, Sendable {
    public enum Mode: Hashable, Sendable {
        /// At home: changes appear in the list immediately.
        case planning
        /// In the shop: rows stay where they are, additions wait as notices.
        case shopping
    }

    /// A line of the list; in shopping mode a removed item keeps its line until the mode changes.
    public struct Row: Hashable, Sendable, Identifiable {
        public internal(set) var item: ShoppingItem
        public internal(set) var isRemoved: Bool

        public var id: String { item.id }
    }

    public private(set) var mode: Mode
    public private(set) var rows: [Row]
    /// Items that others added while the user was shopping, in list order, to be tapped.
    public private(set) var notices: [ShoppingItem] = []
    /// The newest list that arrived.
    public private(set) var list: ShoppingList
    private let deviceID: String

    /// Opens a list on a device; what its person adds on it never waits as a notice.
    ///
    /// - Parameter deviceID: as in ``ChangeOrigin/deviceID``, not the device's name.
    public init(list: ShoppingList, deviceID: String, mode: Mode = .planning) {
        self.list = list
        self.deviceID = deviceID
        self.mode = mode
        self.rows = list.items.map { Row(item: $0, isRemoved: false) }
    }

    /// Opens a list in shopping mode as it was left: with these rows, in this order; other items are notices.
    public init(list: ShoppingList, deviceID: String, shoppingWith shownIDs: [String]) {
        self.init(list: list, deviceID: deviceID, mode: .shopping)
        let rowsByID = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        rows = shownIDs.compactMap { rowsByID[$0] }
        receive(list)
    }

    /// Takes the list as rebuilt after new entries.
    public mutating func receive(_ list: ShoppingList) {
        self.list = list
        switch mode {
        case .planning:
            showEverything()
        case .shopping:
            updateRows()
            let deviceID = deviceID
            show { $0.addedFrom.isOf(deviceID) }
        }
    }

    /// Changes the mode; the newest list is shown in full.
    public mutating func enter(_ mode: Mode) {
        self.mode = mode
        showEverything()
    }

    /// Moves a notice's item into the rows; does nothing when there is no such notice.
    public mutating func accept(noticeOf itemID: String) {
        show { $0.id == itemID }
    }

    /// Moves the items of all notices into the rows.
    public mutating func acceptAllNotices() {
        show { _ in true }
    }

    private mutating func showEverything() {
        rows = list.items.map { Row(item: $0, isRemoved: false) }
        notices = []
    }

    private mutating func updateRows() {
        let itemsByID = Dictionary(list.items.map { ($0.id, $0) }) { first, _ in first }
        for index in rows.indices {
            if let item = itemsByID[rows[index].id] {
                rows[index] = Row(item: item, isRemoved: false)
            } else if !list.boughtIDs.contains(rows[index].id) {
                rows[index].isRemoved = true
            }
        }
    }

    /// Puts the chosen items that have no row after the row they follow; the others are notices.
    private mutating func show(where isChosen: (ShoppingItem) -> Bool) {
        let shown = Set(rows.map(\.id))
        var additions: [String?: [Row]] = [:]
        var waiting: [ShoppingItem] = []
        var lastShown: String?
        for item in list.items {
            if shown.contains(item.id) {
                lastShown = item.id
            } else if isChosen(item) {
                additions[lastShown, default: []].append(Row(item: item, isRemoved: false))
            } else {
                waiting.append(item)
            }
        }
        notices = waiting
        guard !additions.isEmpty else { return }
        rows = (additions[nil] ?? []) + rows.flatMap { [$0] + (additions[$0.id] ?? []) }
    }
}
