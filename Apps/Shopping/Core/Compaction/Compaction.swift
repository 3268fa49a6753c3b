// Which entries of a journal can be removed: a pure function of (journal, time). The rules:
//
// 1. Only entries older than the cutoff are removed. A recent entry is never touched.
// 2. If an item was bought or removed and its entries are all old, all of them are removed.
// 3. Of every other item, and of the list itself, old entries that a later entry has overruled are removed: the last
//    name, mark, presence, place and first add stay, so a late entry of a device that was offline is still compared
//    with them.
// 4. An entry that other places depend on is removed only if the order of the rest stays the same. This is tested, not
//    derived: the list is rebuilt without the entries, and where two items would change places, what both depend on is
//    kept.
// 5. Entries of an item that was never added are leftovers of an earlier compaction, and are removed.
// 6. A journal with an entry of a newer app is not compacted: its meaning is not known.
//
// So `journal.list().squeezed(before: cutoff)` is the same before and after, on every device, and after each step of
// a compaction in steps.

/// The entries of a journal that are not needed to rebuild what is shown of the list.
///
///     let compaction = Compaction(of: journal, before: now - ShoppingLimits.compactedAgeMilliseconds)
///     for entry in compaction.dropped { journal.remove(id: entry.id) }
public struct Compaction: Hashable, Sendable {
    /// The entries that can be removed, oldest first.
    public let dropped: [JournalEntry]
    /// Whether ``dropped`` has everything that can be removed.
    public let isComplete: Bool

    /// Chooses the entries, the oldest items first. O(n log n) in the entries for each pair of items that would change
    /// places.
    ///
    /// - Parameters:
    ///   - cutoffMilliseconds: entries of this age or later stay.
    ///   - limit: the most entries to remove; the rest is still a complete list.
    ///   - time: when an entry was created, for its age; its edit time by default.
    public init(
        of journal: Journal, before cutoffMilliseconds: Int64, atMost limit: Int = .max,
        time: (JournalEntry) -> Int64 = { $0.editTimeMilliseconds }
    ) {
        guard limit > 0, !journal.needsNewerApp else {
            (dropped, isComplete) = ([], limit > 0)
            return
        }
        let entries = journal.history
        let times = entries.map(time)
        let draft = CompactionDraft(
            journal.listID, entries, times: times,
            isOld: zip(entries, times).map {
                $0.action.isKnown && max($0.editTimeMilliseconds, $1) < cutoffMilliseconds
            })
        let (ranks, isComplete) = draft.choose(atMost: limit)
        dropped = ranks.sorted().map { entries[$0] }
        self.isComplete = isComplete
    }
}

/// Chooses the entries to remove.
private struct CompactionDraft {
    /// Entries that are removed together or, where others depend on the item, only its overruled ones.
    struct Unit {
        var ranks: [Int]
        var overruled: [Int]
        /// The item whose entries are all removed; nil when only overruled ones are.
        var itemID: String?
        var newest: Int64
    }

    let listID: String
    let entries: [JournalEntry]
    let times: [Int64]
    let isOld: [Bool]
    /// The list with all entries.
    let whole: ListBuilder
    let shownIDs: [String]
    /// Ranks of placements that others depend on.
    private var carriers: Set<Int> = []

    /// How many times a single pair of items is put in order; after that, all that any item depends on stays.
    private static let rounds = 40

    init(_ listID: String, _ entries: [JournalEntry], times: [Int64], isOld: [Bool]) {
        self.listID = listID
        self.entries = entries
        self.times = times
        self.isOld = isOld
        var whole = ListBuilder(entries: entries)
        shownIDs = whole.build(listID: listID).items.map(\.id)
        self.whole = whole
        var unknown: Set<String> = []
        for placement in whole.rankByPlacement.indices {
            if let anchor = whole.places.anchor(of: placement) {
                carriers.insert(whole.rankByPlacement[anchor])
            } else if let itemID = whole.places.unknownAnchor(of: placement),
                unknown.insert(itemID).inserted
            {
                // The oldest one decides the position of all of them.
                carriers.insert(whole.rankByPlacement[placement])
            }
        }
    }

    /// The ranks to remove, and whether the limit left nothing over.
    func choose(atMost limit: Int) -> (ranks: Set<Int>, isComplete: Bool) {
        let units = units()
        var room = limit
        var isComplete = true
        var dropped: Set<Int> = []
        var droppedUnits: [String: Unit] = [:]
        for unit in units {
            if unit.ranks.count <= room {
                dropped.formUnion(unit.ranks)
                if let itemID = unit.itemID { droppedUnits[itemID] = unit }
                room -= unit.ranks.count
            } else {
                dropped.formUnion(unit.overruled.prefix(room))
                isComplete = false
                break
            }
        }
        keepCarriers(units, &droppedUnits, &dropped)
        return (dropped, isComplete)
    }

    /// Keeps what items depend on that would otherwise change places.
    private func keepCarriers(
        _ units: [Unit], _ droppedUnits: inout [String: Unit], _ dropped: inout Set<Int>
    ) {
        let goneIDs = Set(units.compactMap(\.itemID))
        let staying = shownIDs.filter { !goneIDs.contains($0) }
        for round in 0... {
            let order = order(without: dropped).filter { !goneIDs.contains($0) }
            guard let place = zip(order, staying).enumerated().first(where: { $1.0 != $1.1 })
            else { break }
            let wronged = round < Self.rounds ? [place.element.0, place.element.1] : staying
            let kept = carriers(of: wronged).compactMap { droppedUnits.removeValue(forKey: $0) }
            guard !kept.isEmpty || !droppedUnits.isEmpty else {
                // Removes nothing rather than let two items change places.
                dropped = []
                break
            }
            // If both keep all that they depend on, their order stays; usually there is something to keep.
            for unit in kept.isEmpty ? Array(droppedUnits.values) : kept {
                dropped.subtract(unit.ranks)
                dropped.formUnion(unit.overruled)
            }
            if kept.isEmpty { droppedUnits = [:] }
        }
    }

    private func order(without dropped: Set<Int>) -> [String] {
        var builder = ListBuilder(
            entries: entries.indices.lazy.filter { !dropped.contains($0) }.map { entries[$0] })
        return builder.build(listID: listID).items.map(\.id)
    }

    /// The items that others depend on.
    private func carriers(of itemIDs: [String]) -> Set<String> {
        var carriers: Set<String> = []
        for itemID in itemIDs {
            guard let index = whole.draftByItemID[itemID],
                let placement = whole.drafts[index].placements.last
            else { continue }
            for below in whole.places.path(of: placement) {
                if let carrier = entries[whole.rankByPlacement[below]].itemID {
                    carriers.insert(carrier)
                }
            }
        }
        return carriers
    }

    // MARK: Candidates

    /// The entries that may be removed, those of the items that were unchanged for the longest first.
    private func units() -> [Unit] {
        var ranksByItemID: [String?: [Int]] = [:]
        for (rank, entry) in entries.enumerated() {
            ranksByItemID[entry.itemID, default: []].append(rank)
        }
        let ticked = Set(shownIDs.filter { whole.item($0)?.isTicked == true })
        let shown = Set(shownIDs)
        return ranksByItemID.compactMap { itemID, ranks -> Unit? in
            let known = ranks.filter { entries[$0].action.isKnown }
            let overruled = (itemID == nil ? overruledOfList(known) : overruled(itemID, known))
                .filter { isOld[$0] }
            var unit = Unit(
                ranks: overruled, overruled: overruled, itemID: nil,
                newest: overruled.map { times[$0] }.max() ?? .min)
            if let itemID, known.allSatisfy({ isOld[$0] }),
                ticked.contains(itemID) || !shown.contains(itemID)
            {
                unit.ranks = known
                unit.itemID = itemID
                unit.newest = known.map { times[$0] }.max() ?? .min
            }
            return unit.ranks.isEmpty ? nil : unit
        }.sorted { ($0.newest, $0.ranks[0]) < ($1.newest, $1.ranks[0]) }
    }

    /// Those of an item's entries that no longer have any effect.
    private func overruled(_ itemID: String?, _ ranks: [Int]) -> [Int] {
        guard let itemID, let index = whole.draftByItemID[itemID] else { return ranks }
        let first = whole.drafts[index].firstAddRank
        var last: [String: Int] = [:]
        for rank in ranks where rank != first {
            let entry = entries[rank]
            switch entry.action {
            case .add:
                for register in ["mark", "presence", "place", "adder"] { last[register] = rank }
                last["quantity"] = rank
                if entry.value != nil { last["name"] = rank }
            case .tick, .untick: last["mark"] = rank
            case .remove: last["presence"] = rank
            case .reorder: last["place"] = rank
            case .rename where entry.value != nil: last["name"] = rank
            case .note where entry.value != nil: last["note"] = rank
            case .category where entry.value != nil: last["category"] = rank
            case .quantity where Quantity.number(of: entry.value) != nil: last["quantity"] = rank
            case .picture: last["picture"] = rank
            default: break
            }
        }
        let counting = Set(last.values).union([first])
        return ranks.filter { !counting.contains($0) && !carriers.contains($0) }
    }

    private func overruledOfList(_ ranks: [Int]) -> [Int] {
        func last(_ action: JournalEntry.Action) -> Int? {
            ranks.last { entries[$0].action == action && entries[$0].value != nil }
        }
        let counting = [
            ranks.first { entries[$0].action == .create }, last(.rename), last(.recolour),
        ]
        return ranks.filter { !counting.contains($0) }
    }
}

extension ListBuilder {
    /// An item as rebuilt, removed or not; nil when it was never added.
    fileprivate func item(_ itemID: String) -> ShoppingItem? {
        draftByItemID[itemID].map { drafts[$0].item }
    }
}
