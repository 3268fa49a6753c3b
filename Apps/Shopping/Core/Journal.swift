// Invariants
// 1. A journal is a set of entries: order of arrival and repeated entries leave no trace.
// 2. An entry leaves the set only by compaction; `insert` never drops or changes one that is known.
// 3. Two contents under one identifier break invariant 1 of JournalEntry. Should it happen, every
//    device keeps the same one of the two.

/// The set of entries of one list, from which the list is rebuilt.
///
///     var journal = Journal(listID: "weekly")
///     journal.insert(entry)
///     print(journal.list().items.map(\.name))
public struct Journal: Hashable, Sendable {
    /// Journals of the same entries are equal, whatever was known and removed before.
    public static func == (one: Journal, other: Journal) -> Bool {
        one.listID == other.listID && one.entriesByID == other.entriesByID
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(listID)
        hasher.combine(entriesByID)
    }

    /// What became of an entry that was handed to the journal.
    public enum Insertion: Hashable, Sendable {
        case inserted
        /// An entry with this identifier was there already: none was added.
        case duplicate
        /// The entry belongs to another list: it was not taken.
        case otherList
    }

    public let listID: String
    private(set) var entriesByID: [String: JournalEntry] = [:]
    private var newestEditTimeMilliseconds: Int64?

    public init(listID: String) {
        self.listID = listID
    }

    /// Makes the journal of a list from entries in any order; those of other lists are left out.
    public init(listID: String, entries: some Sequence<JournalEntry>) {
        self.init(listID: listID)
        for entry in entries { insert(entry) }
    }

    public var count: Int { entriesByID.count }

    public var isEmpty: Bool { entriesByID.isEmpty }

    /// Looks an entry up by its identifier.
    public func entry(id: String) -> JournalEntry? {
        entriesByID[id]
    }

    /// All entries, oldest first: the history that the activity view shows.
    public var history: [JournalEntry] {
        entriesByID.values.sorted { $0.precedes($1) }
    }

    /// Whether some entry was written by a newer version of the app.
    public var needsNewerApp: Bool {
        entriesByID.values.contains { $0.needsNewerApp }
    }

    /// Takes an entry into the set.
    @discardableResult
    public mutating func insert(_ entry: JournalEntry) -> Insertion {
        guard entry.listID == listID else { return .otherList }
        if let known = entriesByID[entry.id] {
            if known != entry, entry.canonicalText < known.canonicalText {
                entriesByID[entry.id] = entry
                newestEditTimeMilliseconds = max(
                    newestEditTimeMilliseconds ?? .min, entry.editTimeMilliseconds)
            }
            return .duplicate
        }
        entriesByID[entry.id] = entry
        newestEditTimeMilliseconds = max(
            newestEditTimeMilliseconds ?? .min, entry.editTimeMilliseconds)
        return .inserted
    }

    /// Takes an entry out of the set, as compaction does; times of later entries still come after it.
    @discardableResult
    public mutating func remove(id: String) -> JournalEntry? {
        entriesByID.removeValue(forKey: id)
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
