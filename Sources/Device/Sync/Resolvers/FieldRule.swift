/// How two edits of one field are brought together; see ``FieldWise``.
///
/// ```swift
/// let resolver = FieldWise(rules: ["tags": .set, "steps": .sequence, "status": .serverDate])
/// ```
public enum FieldRule: String, Hashable, Sendable, CaseIterable {
    /// The edit that was made last wins: the rule of every field that has no other.
    case editDate
    /// The value that was edited more often wins, whatever the clocks say.
    case editCount
    /// The value that reached the service first stands. The only rule under which the order of syncs
    /// decides.
    case serverDate
    /// A list without an order: of each element, the last edit decides whether it is in. Afterwards every
    /// element is there once, in the order in which they were added.
    case set
    /// A list with an order: as ``set``, but elements may come more than once, and each keeps its place
    /// between its neighbours.
    case sequence
}

/// Fields of a record that the cache fills by itself with every edit, for a resolver that compares them.
public struct EditStamps: Hashable, Sendable {
    /// A TIMESTAMP: when the record was last edited.
    public var dateKey: String?
    /// An INT64: how often the record was edited, from 1 on.
    public var countKey: String?

    public init(dateKey: String? = nil, countKey: String? = nil) {
        self.dateKey = dateKey
        self.countKey = countKey
    }
}
