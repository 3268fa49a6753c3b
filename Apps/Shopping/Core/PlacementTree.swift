// Where items stand, after the replicated growable array (RGA; Roh and others, 2011).
//
// Every add and every reorder is a placement: a place of its own that stays forever, even when the
// item leaves it or is removed. A placement stands on its anchor: the place its after-item had when
// the entry was made. The rules:
//
// 1. The anchor is the after-item's latest placement before the entry in the total order; if there
//    is none, its first add. No after-item: the list's start.
// 2. Places on the same anchor: the later entry stands nearer to the anchor. So "after X" means
//    directly after X, and of two offline adds after X none is lost and all devices agree.
// 3. What was placed on a placement follows it directly (depth first), so a run typed by one person
//    ("bread", after it "butter") is never mixed with another person's run.
// 4. An anchor that is not known yet: the places on it come at the list's end, groups by their
//    oldest entry. When the anchor arrives they move to it.
// 5. An item is seen at its latest placement only. Moving it leaves behind what stood after it.
// 6. Entries that anchor in a ring (possible only when clocks disagree and a writer does not use
//    Journal.editTime) are cut at the latest entry of the ring, which comes at the list's end.
//
// Rule 1 leads to earlier entries or to first adds, so without rule 6's rings every placement hangs
// on the start or on an unknown anchor: each placement is visited exactly once. O(n log n).

/// The tree of all places of a list, whose walk gives the order.
struct PlacementTree {
    private enum Anchor {
        case start
        case placement(Int)
        case unknown(String)
        case cut

        func isUnknown(_ itemID: String) -> Bool {
            if case .unknown(itemID) = self { true } else { false }
        }
    }

    private var anchors: [Anchor] = []
    private var ranks: [Int] = []

    /// Adds a place on the list's start, of an entry with a higher rank than all before.
    mutating func append(rank: Int) -> Int {
        anchors.append(.start)
        ranks.append(rank)
        return anchors.count - 1
    }

    /// Anchors a place on an item that has the given placements, the first add's first (rule 1).
    mutating func attach(_ placement: Int, after itemPlacements: [Int]) {
        // Among the placements after the first, find how many come before this one.
        var low = 1
        var high = itemPlacements.count
        while low < high {
            let middle = (low + high) / 2
            if ranks[itemPlacements[middle]] < ranks[placement] {
                low = middle + 1
            } else {
                high = middle
            }
        }
        anchors[placement] = .placement(itemPlacements[low - 1])
    }

    /// Anchors a place on an item that has not been added yet (rule 4).
    mutating func attach(_ placement: Int, afterUnknown itemID: String) {
        anchors[placement] = .unknown(itemID)
    }

    /// The placement that one stands directly on; nil on the start or on an unknown anchor.
    func anchor(of placement: Int) -> Int? {
        guard case .placement(let anchor) = anchors[placement] else { return nil }
        return anchor
    }

    /// The item that a placement stands on and that has not been added; nil for another anchor.
    func unknownAnchor(of placement: Int) -> String? {
        guard case .unknown(let itemID) = anchors[placement] else { return nil }
        return itemID
    }

    /// All that decides where a placement stands: the placements below it, nearest first, and where the last of them
    /// has an unknown anchor, the oldest one on it.
    func path(of placement: Int) -> [Int] {
        var path: [Int] = []
        var seen: Set<Int> = [placement]
        var current = placement
        while case .placement(let anchor) = anchors[current], seen.insert(anchor).inserted {
            path.append(anchor)
            current = anchor
        }
        if case .unknown(let itemID) = anchors[current],
            let oldest = anchors.firstIndex(where: { $0.isUnknown(itemID) })
        {
            path.append(oldest)
        }
        return path
    }

    /// Walks the tree: all placements, each once, in list order.
    mutating func order() -> [Int] {
        cutRings()
        // Roots: 0 is the list's start, the others unknown anchors and cuts, oldest entry first.
        var firstOnRoot: [Int?] = [nil]
        var rootByUnknown: [String: Int] = [:]
        var firstOnPlacement = [Int?](repeating: nil, count: anchors.count)
        var next = [Int?](repeating: nil, count: anchors.count)
        // Ascending ranks, each pushed to the front: the later stands nearer to the anchor.
        for placement in anchors.indices {
            switch anchors[placement] {
            case .placement(let anchor):
                next[placement] = firstOnPlacement[anchor]
                firstOnPlacement[anchor] = placement
            case .start:
                next[placement] = firstOnRoot[0]
                firstOnRoot[0] = placement
            case .unknown(let itemID):
                if let root = rootByUnknown[itemID] {
                    next[placement] = firstOnRoot[root]
                    firstOnRoot[root] = placement
                } else {
                    rootByUnknown[itemID] = firstOnRoot.count
                    firstOnRoot.append(placement)
                }
            case .cut:
                firstOnRoot.append(placement)
            }
        }
        var order: [Int] = []
        order.reserveCapacity(anchors.count)
        var pending: [Int] = firstOnRoot.reversed().compactMap { $0 }
        while let placement = pending.popLast() {
            order.append(placement)
            if let sibling = next[placement] { pending.append(sibling) }
            if let child = firstOnPlacement[placement] { pending.append(child) }
        }
        return order
    }

    /// Finds every ring of anchors and cuts it at its latest entry (rule 6).
    private mutating func cutRings() {
        var walkOf = [Int?](repeating: nil, count: anchors.count)
        for start in anchors.indices {
            var current = start
            while walkOf[current] == nil, case .placement(let anchor) = anchors[current] {
                walkOf[current] = start
                current = anchor
            }
            guard walkOf[current] == start else { continue }
            var latest = current
            var member = current
            while case .placement(let anchor) = anchors[member], anchor != current {
                latest = max(latest, anchor)
                member = anchor
            }
            anchors[latest] = .cut
        }
    }
}
