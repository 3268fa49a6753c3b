/// Orders items that need others before them: an item comes after the items that it needs; otherwise the order in which
/// items are begun is kept. In a cycle, one of the items comes first.
///
/// It does not recurse, since apps can make long chains.
///
/// ```swift
/// var walk = DependencyWalk<String, Item>()
/// var ordered: [Item] = []
/// for item in items where !walk.hasSeen(item.id) {
///     walk.begin(at: item, id: item.id, needing: item.neededIDs)
///     while let step = walk.next() {
///         switch step {
///         case .look(let id):
///             if let needed = find(id) { walk.begin(at: needed, id: id, needing: needed.neededIDs) }
///         case .take(let item): ordered.append(item)
///         }
///     }
/// }
/// ```
package struct DependencyWalk<ID: Hashable, Item> {
    package enum Step {
        /// Begin at the item with this ID first, if there is one. Each ID is asked for once.
        case look(ID)
        case take(Item)
    }

    private var open: [(item: Item, needed: ArraySlice<ID>)] = []
    private var seen: Set<ID> = []

    package init() {}

    /// Whether an item was begun, or asked for with a `look` step.
    package func hasSeen(_ id: ID) -> Bool { seen.contains(id) }

    /// - Precondition: the item was not seen, or is the one that was just asked for.
    package mutating func begin(at item: Item, id: ID, needing needed: [ID]) {
        seen.insert(id)
        open.append((item, needed[...]))
    }

    /// - Returns: Nil when all begun items are taken.
    package mutating func next() -> Step? {
        while let last = open.indices.last {
            guard let id = open[last].needed.popFirst() else {
                return .take(open.removeLast().item)
            }
            if seen.insert(id).inserted { return .look(id) }
        }
        return nil
    }
}
