/// What users did with mapped objects, and therefore what must exist at the end.
///
/// An edit may be lost only to a concurrent one: an edit of the same object, where neither knew of the other. A deleted
/// object stays deleted, and what depends on it is deleted too.
struct MappedLedger {
    private struct Edit {
        var object: Int64
        /// The edits that it knew of, including itself.
        var knows: Set<Int64>
    }

    private var last: Int64 = 0
    private var objects: Set<Int64> = []
    private var deletions: Set<Int64> = []
    private var trails: [Int64: Set<Int64>] = [:]
    private var edits: [Int64: Edit] = [:]

    mutating func nextNumber() -> Int64 {
        last += 1
        return last
    }

    mutating func made(_ object: Int64) { objects.insert(object) }

    mutating func deleted(_ object: Int64) { deletions.insert(object) }

    /// Notes that a sign depends on a trail, now or for a time.
    mutating func hung(_ sign: Int64, on trail: Int64) { trails[sign, default: []].insert(trail) }

    /// - Parameter seen: the fields before the edit.
    /// - Returns: the edit's number.
    mutating func edited(_ object: Int64, seeing seen: [Int64]) -> Int64 {
        let number = nextNumber()
        edits[number] = Edit(object: object, knows: knows(seen).union([number]))
        return number
    }

    private func knows(_ seen: [Int64]) -> Set<Int64> {
        seen.reduce(into: []) { $0.formUnion(edits[$1]?.knows ?? []) }
    }

    func violations(found: [any MappedEntity]) -> [String] {
        var violations: [String] = []
        let there = Dictionary(found.map { ($0.number, $0) }) { first, _ in first }
        if there.count < found.count {
            let twice = Dictionary(grouping: found) { $0.number }.filter { $0.value.count > 1 }.keys
                .sorted()
            violations.append("objects \(twice) are there more than once")
        }
        for object in objects.sorted() {
            guard let found = there[object] else {
                let mayGo =
                    deletions.contains(object)
                    || !deletions.isDisjoint(with: trails[object] ?? [])
                if !mayGo { violations.append("object \(object) vanished") }
                continue
            }
            if deletions.contains(object) {
                violations.append("object \(object) was deleted and is there")
            }
            let kept = knows(found.edits)
            let mine = edits.filter { $0.value.object == object }
            for (number, edit) in mine.sorted(by: { $0.key < $1.key }) where !kept.contains(number)
            {
                let hasRival = mine.contains { other in
                    !other.value.knows.contains(number) && !edit.knows.contains(other.key)
                }
                if !hasRival {
                    violations.append("edit \(number) of object \(object) lost without a conflict")
                }
            }
        }
        return violations
    }
}
