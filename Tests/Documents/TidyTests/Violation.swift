import Testing

/// What a check found, as a sentence that says where it is and what to do.
struct Violation: Hashable, Sendable, CustomStringConvertible {
    var path: String
    var line: Int
    var sentence: String

    var description: String { "\(path):\(line): \(sentence)" }
}

/// A violation that is right where it is, for good.
struct Exception: Sendable {
    var path: String
    /// What the violation's sentence contains.
    var about: String
    var reason: String
}

/// Records an issue for every violation without an exception, and for every exception that nothing
/// needs any more.
func expectNone(_ violations: [Violation], except exceptions: [Exception] = []) {
    for violation in violations
    where !exceptions.contains(where: { $0.covers(violation) }) {
        Issue.record("\(violation)")
    }
    for exception in exceptions where !violations.contains(where: exception.covers) {
        Issue.record(
            "\(exception.path): nothing needs the exception about \(exception.about); remove it.")
    }
}

extension Exception {
    func covers(_ violation: Violation) -> Bool {
        violation.path == path && violation.sentence.contains(about)
    }
}
