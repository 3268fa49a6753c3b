/// An invariant of a database's tables, as a query for its violations.
struct StoredInvariant: Sendable {
    /// The invariant as a sentence, which identifies it in reports.
    var sentence: String
    /// A statement with one column of text: the names of the rows that violate the invariant.
    var violations: String

    init(_ sentence: String, violations: String) {
        self.sentence = sentence
        self.violations = violations
    }
}

/// A violation of an invariant, and where it is.
public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The invariant, as a constant sentence.
    public var invariant: String
    /// The file or folder that violates it.
    public var path: String
    /// The violation: a record's or zone's name, or what SQLite reports.
    public var violation: String

    /// Makes a finding.
    public init(invariant: String, path: String, violation: String) {
        self.invariant = invariant
        self.path = path
        self.violation = violation
    }

    public var description: String { "\(path): \(invariant) Broken by \(violation)." }
}
