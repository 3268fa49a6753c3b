/// How two edits of one field are merged; see ``FieldWise``.
///
/// ```swift
/// let resolver = FieldWise(rules: ["tags": .set, "steps": .sequence, "status": .serverDate])
/// ```
public enum FieldRule: String, Hashable, Sendable, CaseIterable {
    /// The last edit wins: the default rule.
    case editDate
    /// The value that was edited more often wins, independent of clocks.
    case editCount
    /// The value that reached the service first wins. It is the only rule under which the order of
    /// syncs matters.
    case serverDate
    /// A list without an order: for each element, the last edit decides whether it is in the list.
    /// Afterwards every element is there once, in the order in which they were added.
    case set
    /// A list with an order: as ``set``, but elements may occur more than once, and each keeps its
    /// position between its neighbours.
    case sequence
}

/// Fields that the cache sets with every edit, for a resolver that compares them.
public struct EditStamps: Hashable, Sendable {
    /// A TIMESTAMP: when the record was last edited.
    public var dateKey: String?
    /// An INT64: how often the record was edited, beginning with 1.
    public var countKey: String?

    /// Names the fields that the cache sets; nil means that it sets no field of that kind.
    public init(dateKey: String? = nil, countKey: String? = nil) {
        self.dateKey = dateKey
        self.countKey = countKey
    }
}
