/// An invariant of a database's tables, as a query for its violations.
struct StoredInvariant: Sendable {
    /// The invariant as a sentence, which identifies it in reports.
    var sentence: String
    /// What can be done about a violation.
    var recoveryAction: Finding.RecoveryAction
    /// A statement with one column of text: the names of the rows that violate the invariant.
    var violations: String

    init(
        _ sentence: String, recoveryAction: Finding.RecoveryAction = .saveAgain, violations: String
    ) {
        self.sentence = sentence
        self.recoveryAction = recoveryAction
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
    /// What can be done about it.
    package var recoveryAction: RecoveryAction

    /// What can be done about a violation.
    package enum RecoveryAction: Hashable, Sendable {
        /// The rows are derived from records, and a repair derives them again.
        case rebuild
        /// A row is damaged in a file that is otherwise intact; a repair can drop it.
        case dropRow
        /// The file itself is damaged, so that its rows are not reliable; a backup has it.
        case restoreFile
        /// The file is not Stratus's; the operator moves it.
        case moveFile
        /// The violation is in the data itself, which nothing can rebuild; it must be saved again.
        case saveAgain
    }

    /// Makes a finding about data that nothing rebuilds.
    public init(invariant: String, path: String, violation: String) {
        self.init(
            invariant: invariant, path: path, violation: violation, recoveryAction: .saveAgain)
    }

    package init(invariant: String, path: String, violation: String, recoveryAction: RecoveryAction)
    {
        self.invariant = invariant
        self.path = path
        self.violation = violation
        self.recoveryAction = recoveryAction
    }

    public var description: String { "\(path): \(invariant) Broken by \(violation)." }
}
