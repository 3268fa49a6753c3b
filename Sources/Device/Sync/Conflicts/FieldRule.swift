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
