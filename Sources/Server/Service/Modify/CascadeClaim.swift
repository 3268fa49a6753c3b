import StratusStorage

/// What is asked of a large cascade: what goes with some records, as things are after the request's saves.
struct CascadeQuestion: Hashable, Sendable {
    /// The records that are named to be deleted.
    var roots: [RecordKey]
    var saves: [Dependents.Save]
    /// What the caller may do in the zones, by their names: with other rights it is another question.
    var access: [String: Int64]
}

/// What goes along with records that are deleted.
struct CascadeAnswer: Sendable {
    var cascade: Cascade
    /// The named records that cannot go, since somebody needs one of those that would go along.
    var refused: Set<RecordKey> = []
    /// Whether too much would have to be looked at.
    var isEntangled = false

    /// Whether some of the named records stay.
    var hasRefused: Bool { !refused.isEmpty || !cascade.tooLarge.isEmpty || isEntangled }
}

/// More goes along than one transaction looks for; it has changed nothing.
struct UnknownCascade: Error {
    let question: CascadeQuestion
}

/// The records that a request has found to go with its deletions, in steps before its transaction.
///
/// Each is written down as a deletion that the claim holds back (`LongChangeRow.Kind.claim`). Until the
/// request's transaction decides, they are there for all who read; nobody changes them, nor makes a record
/// depend on them. So what was found stays true, and the transaction need not look again.
struct CascadeClaim: Sendable {
    /// Stands in the claim's rows, and says on whose behalf the records go.
    let text: String
    /// What was found. A claim holds exactly what the last answer that refuses nothing says.
    private(set) var answers: [CascadeQuestion: CascadeAnswer] = [:]

    init(_ deletion: LongDeletion) {
        text = deletion.text
    }

    mutating func add(_ answer: CascadeAnswer, to question: CascadeQuestion) {
        if !answer.hasRefused { answers = answers.filter(\.value.hasRefused) }
        answers[question] = answer
    }
}
