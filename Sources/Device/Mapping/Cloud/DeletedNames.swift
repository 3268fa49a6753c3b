/// The names of deleted objects, by type: all whose deletion the cloud does not have yet, and the newest of the others.
///
/// A name that is forgotten no longer matters in most apps: an object with it, or a reference to it, would have to
/// outlive ten thousand later deletions.
struct DeletedNames {
    /// How many deletions that the cloud has are kept at least.
    static let keptCount = 10_000

    private struct Deletion {
        var isPending: Bool
        /// Later deletions have greater numbers.
        var number: Int
    }

    private var deletions: [String: [String: Deletion]] = [:]
    private var lastNumber = 0
    /// The number of deletions that the cloud has.
    private var doneCount = 0

    var count: Int { deletions.values.reduce(0) { $0 + $1.count } }

    /// All names, in the order of their last notes.
    var inOrder: [(type: String, name: String, isPending: Bool)] {
        var all: [(type: String, name: String, deletion: Deletion)] = []
        for (type, names) in deletions {
            for (name, deletion) in names { all.append((type, name, deletion)) }
        }
        all.sort { $0.deletion.number < $1.deletion.number }
        return all.map { (type: $0.type, name: $0.name, isPending: $0.deletion.isPending) }
    }

    func contains(_ type: String, _ name: String) -> Bool { deletions[type]?[name] != nil }

    func pending(_ type: String) -> [String] {
        deletions[type, default: [:]].filter(\.value.isPending).keys.sorted()
    }

    mutating func note(_ type: String, _ name: String, isPending: Bool) {
        forgetDone(type, name)
        lastNumber += 1
        deletions[type, default: [:]][name] = Deletion(isPending: isPending, number: lastNumber)
        if isPending { return }
        doneCount += 1
        // Only now and then, because it sorts all.
        if doneCount > 2 * Self.keptCount { forgetOldest() }
    }

    /// Forgets a deletion that the cloud has.
    mutating func forgetDone(_ type: String, _ name: String) {
        guard deletions[type]?[name]?.isPending == false else { return }
        deletions[type]?[name] = nil
        doneCount -= 1
    }

    private mutating func forgetOldest() {
        for (type, name, _) in inOrder.filter({ !$0.isPending }).dropLast(Self.keptCount) {
            forgetDone(type, name)
        }
    }
}
