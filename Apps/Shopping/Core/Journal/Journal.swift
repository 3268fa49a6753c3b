// Invariants
// 1. A journal is a set of entries: the order of arrival and repeated entries have no effect.
// 2. An entry leaves the set only by compaction; `insert` never drops or changes one that is known.
// 3. Two contents under one identifier break invariant 1 of JournalEntry. Should it happen, every
//    device keeps the same one of the two.

/// The set of entries of one list, from which the list is rebuilt.
///
///     var journal = Journal(listID: "weekly")
///     journal.insert(entry)
///     print(journal.list().items.map(\.name))
public struct Journal: Hashable, Sendable {
    /// Journals of the same entries are equal, regardless of what was known and removed before.
    public static func == (one: Journal, other: Journal) -> Bool {
        one.listID == other.listID && one.entriesByID == other.entriesByID
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(listID)
        hasher.combine(entriesByID)
    }

    /// What happened to an entry that was given to the journal.
    public enum Insertion: Hashable, Sendable {
        case inserted
        /// An entry with this identifier was there already: none was added.
        case duplicate
        /// The entry belongs to another list: it was not taken.
        case otherList
    }

    public let listID: String
    /// All entries, oldest first: the history that the activity view shows.
    public private(set) var history: [JournalEntry] = []
    private(set) var entriesByID: [String: JournalEntry] = [:]
    private var newestEditTimeMilliseconds: Int64?
    /// Entries of a newer version of the app.
    private var newerCount = 0

    public init(listID: String) {
        self.listID = listID
    }

    /// Makes the journal of a list from entries in any order; those of other lists are left out.
    public init(listID: String, entries: some Sequence<JournalEntry>) {
        self.init(listID: listID)
        insert(entries)
    }

    public var count: Int { entriesByID.count }

    public var isEmpty: Bool { entriesByID.isEmpty }

    /// Looks an entry up by its identifier.
    public func entry(id: String) -> JournalEntry? {
        entriesByID[id]
    }

    /// Whether some entry was written by a newer version of the app.
    public var needsNewerApp: Bool { newerCount > 0 }

    /// Takes an entry into the set.
    @discardableResult
    public mutating func insert(_ entry: JournalEntry) -> Insertion {
        guard entry.listID == listID else { return .otherList }
        return insert([entry]).isEmpty ? .duplicate : .inserted
    }

    /// Takes entries into the set; those of other lists are left out.
    ///
    /// - Returns: the entries that were not known.
    @discardableResult
    public mutating func insert(_ entries: some Sequence<JournalEntry>) -> [JournalEntry] {
        var fresh: [JournalEntry] = []
        for entry in entries where entry.listID == listID {
            if let known = entriesByID[entry.id] {
                guard known != entry, entry.canonicalText < known.canonicalText else { continue }
                remove(ids: [entry.id])
                // An entry that was added in this call is not in its place yet.
                fresh = fresh.map { $0.id == entry.id ? entry : $0 }
                if !fresh.contains(entry) { place([entry]) }
            } else {
                fresh.append(entry)
            }
            entriesByID[entry.id] = entry
            newestEditTimeMilliseconds = max(
                newestEditTimeMilliseconds ?? .min, entry.editTimeMilliseconds)
            if entry.needsNewerApp { newerCount += 1 }
        }
        place(fresh)
        return fresh
    }

    /// Puts entries where they belong in the history.
    private mutating func place(_ entries: [JournalEntry]) {
        let newest = history.last
        history += entries
        // New entries nearly always come last; otherwise sorting moves few entries of an ordered history.
        let isInOrder =
            entries.count == 1 && newest.map { $0.precedes(entries[0]) } ?? true
        if !isInOrder { history.sort { $0.precedes($1) } }
    }

    /// Takes an entry out of the set, as compaction does; times of later entries still come after it.
    @discardableResult
    public mutating func remove(id: String) -> JournalEntry? {
        let known = entriesByID[id]
        remove(ids: [id])
        return known
    }

    /// Takes entries out of the set.
    ///
    /// - Returns: whether any of them was there.
    @discardableResult
    public mutating func remove(ids: Set<String>) -> Bool {
        var removed: Set<String> = []
        for id in ids {
            guard let entry = entriesByID.removeValue(forKey: id) else { continue }
            removed.insert(id)
            if entry.needsNewerApp { newerCount -= 1 }
        }
        guard !removed.isEmpty else { return false }
        history.removeAll { removed.contains($0.id) }
        return true
    }

    /// The edit time for the next entry: the clock's, or just past the newest entry that is known.
    ///
    /// So a change made after seeing another one is later in the order too, even on a device whose
    /// clock is slow (a hybrid logical clock), and changes of one device never share a time.
    public func editTime(nowMilliseconds: Int64) -> Int64 {
        guard let newest = newestEditTimeMilliseconds, newest < .max else { return nowMilliseconds }
        return max(nowMilliseconds, newest + 1)
    }
}

extension JournalEntry {
    /// The entry's whole content as text, to choose between two contents of one identifier.
    fileprivate var canonicalText: String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
    }
}
