import Testing

/// A finding of a check, as a sentence with its place and what to do.
struct Violation: Hashable, Sendable, CustomStringConvertible {
    var path: String
    var line: Int
    var sentence: String

    var description: String { "\(path):\(line): \(sentence)" }
}

/// A permanent exception from a check.
struct Exception: Sendable {
    var path: String
    /// A part of the violation's sentence.
    var about: String
    var reason: String
}

/// Records an issue for every violation without an exception, and for every exception without a
/// violation.
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
