import StratusStorage

/// The question that a large cascade answers: what is deleted with some records, after the request's saves.
struct CascadeQuestion: Hashable, Sendable {
    /// The records that are named to be deleted.
    var roots: [RecordKey]
    var saves: [Dependents.Save]
    /// The caller's rights in the zones, by their names: with other rights the answer differs.
    var access: [String: Int64]
}

/// What is deleted together with some records.
struct CascadeAnswer: Sendable {
    var cascade: Cascade
    /// The named records that cannot be deleted, because another record needs one that would be deleted with them.
    var refused: Set<RecordKey> = []
    /// Whether answering would need too many reads.
    var isOverLimit = false

    /// Whether some of the named records stay.
    var hasRefused: Bool { !refused.isEmpty || !cascade.tooLarge.isEmpty || isOverLimit }
}

/// A deletion removes more than one transaction may search for; the transaction has changed nothing.
struct UnknownCascade: Error {
    let question: CascadeQuestion
}

/// The records that a request has found to be deleted with its deletions, in steps before its transaction.
///
/// Each is stored as a deletion that the claim holds back (`LongChangeRow.Kind.claim`). Until the request's transaction
/// decides, they can still be read, but no other request can change them or make a record depend on them. So the result
/// stays true, and the transaction need not search again.
struct CascadeClaim: Sendable {
    /// The text in the claim's rows, which also names the person who deletes the records.
    let text: String
    /// The answers found. A claim holds exactly what the last answer without refusals contains.
    private(set) var answers: [CascadeQuestion: CascadeAnswer] = [:]

    init(_ deletion: LongDeletion) {
        text = deletion.text
    }

    mutating func add(_ answer: CascadeAnswer, to question: CascadeQuestion) {
        if !answer.hasRefused { answers = answers.filter(\.value.hasRefused) }
        answers[question] = answer
    }
}
