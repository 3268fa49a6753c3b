/// What must hold of a database's tables at every moment, as a query for what violates it.
struct StoredInvariant: Sendable {
    /// What holds, as a sentence; it names the invariant in reports.
    var sentence: String
    /// A statement with one column of text: the names of what violates the invariant.
    var violations: String

    init(_ sentence: String, violations: String) {
        self.sentence = sentence
        self.violations = violations
    }
}

/// An invariant that does not hold, and where.
public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The invariant, as a constant sentence.
    public var invariant: String
    /// The file or folder that violates it.
    public var path: String
    /// What violates it there: a record's or zone's name, or what SQLite reports.
    public var violation: String

    public init(invariant: String, path: String, violation: String) {
        self.invariant = invariant
        self.path = path
        self.violation = violation
    }

    public var description: String { "\(path): \(invariant) Broken by \(violation)." }
}
