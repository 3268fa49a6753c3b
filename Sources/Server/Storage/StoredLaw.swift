/// What must hold of a file's tables at every moment, as a question for what breaks it.
struct StoredLaw: Sendable {
    /// What holds, as a sentence; it names the law in reports.
    var sentence: String
    /// A statement with one column of text: the names of what breaks the law.
    var breaches: String

    init(_ sentence: String, breaches: String) {
        self.sentence = sentence
        self.breaches = breaches
    }
}

/// A law of a data folder that does not hold, and where.
public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The law, as a constant sentence.
    public var law: String
    /// The file or folder that breaks it.
    public var path: String
    /// What breaks it there: a record's or zone's name, or what SQLite says.
    public var breach: String

    public init(law: String, path: String, breach: String) {
        self.law = law
        self.path = path
        self.breach = breach
    }

    public var description: String { "\(path): \(law) Broken by \(breach)." }
}
