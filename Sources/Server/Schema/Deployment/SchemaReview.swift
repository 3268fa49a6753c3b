/// What replacing a schema would change, and which of the changes are refused.
public struct SchemaReview: Hashable, Sendable {
    /// All changes, the refused ones included: roles first, then record types by name.
    public let changes: [SchemaChange]
    /// The changes that break an invariant.
    public let refused: [SchemaChange]

    init(_ difference: SchemaDifference, refused: Set<SchemaChange>) {
        changes = difference.changes
        self.refused = difference.changes.filter(refused.contains)
    }

    /// Whether no change is refused; also true when nothing changes.
    public var isPermitted: Bool { refused.isEmpty }

    /// A line for each change; those that are refused name the invariant.
    public var lines: [String] {
        let refused = Set(refused)
        return changes.map { refused.contains($0) ? $0.lineWithInvariant : $0.description }
    }
}
