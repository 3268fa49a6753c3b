import Foundation

/// Parses predicate format strings: the part of Apple's "Predicate Format String Syntax" that
/// CloudKit supports.
struct PredicateParser {
    private let tokens: [PredicateToken]
    private let arguments: [Any?]
    private var position = 0
    private var argumentPosition = 0
    private var depth = 0

    /// The greatest nesting of brackets and NOTs in a predicate.
    private static let greatestDepth = 100

    /// Parses a format string; one that cannot be parsed becomes
    /// ``PredicateExpression/unreadable(_:)``.
    ///
    /// - Precondition: the format is complete and has its arguments.
    static func parse(_ format: String, _ arguments: [Any?]) -> PredicateExpression {
        do {
            var parser = PredicateParser(
                tokens: try PredicateScanner.tokens(of: format), arguments: arguments)
            return try parser.whole()
        } catch {
            // The query fails with CKError.invalidArguments when it runs, as Apple's does for a
            // predicate that it cannot answer.
            let fault = error as? PredicateFault
            precondition(fault?.isMalformed != true, fault?.sentence ?? "")
            return .unreadable(
                fault?.sentence
                    ?? "The predicate “\(format)” cannot be read; see Apple's page on CKQuery for"
                    + " what it may have.")
        }
    }

    private init(tokens: [PredicateToken], arguments: [Any?]) {
        self.tokens = tokens
        self.arguments = arguments
    }

    // MARK: Words

    private var current: PredicateToken? { position < tokens.count ? tokens[position] : nil }

    private mutating func accept(symbol: String) -> Bool {
        guard current == .symbol(symbol) else { return false }
        position += 1
        return true
    }

    private mutating func accept(word: String...) -> Bool {
        guard case .word(let text) = current, word.contains(text.uppercased()) else { return false }
        position += 1
        return true
    }

    private mutating func expect(symbol: String) throws {
        guard accept(symbol: symbol) else {
            throw PredicateFault(
                sentence: "“\(symbol)” is missing in the predicate; put it where it belongs.",
                isMalformed: current == nil)
        }
    }

    private mutating func nextArgument() throws -> Any? {
        guard argumentPosition < arguments.count else {
            throw PredicateFault(
                sentence:
                    "The predicate has more placeholders than arguments; give an argument for"
                    + " each.",
                isMalformed: true)
        }
        argumentPosition += 1
        return arguments[argumentPosition - 1]
    }

    /// Parses a nested part.
    private mutating func nested<Part>(
        _ part: (inout PredicateParser) throws -> Part
    ) throws -> Part {
        guard depth < Self.greatestDepth else {
            throw PredicateFault(
                sentence:
                    "The predicate's brackets and NOTs are nested too deeply; nest fewer.")
        }
        depth += 1
        defer { depth -= 1 }
        return try part(&self)
    }

    /// Whether the next bracket encloses one side of a condition, as in `(beds) > 3`.
    private var bracketsOperand: Bool {
        var open = 0
        for index in position..<tokens.count {
            if tokens[index] == .symbol("(") { open += 1 }
            guard tokens[index] == .symbol(")") else { continue }
            open -= 1
            guard open == 0 else { continue }
            let next = index + 1 < tokens.count ? tokens[index + 1] : nil
            return next.flatMap { PredicateComparison.Operation($0) } != nil
        }
        return false
    }

    // MARK: Grammar

    private mutating func whole() throws -> PredicateExpression {
        let expression = try disjunction()
        guard position == tokens.count else {
            throw PredicateFault(
                sentence: "The predicate's conditions are not joined; write AND between them.",
                isMalformed: current == .symbol(")"))
        }
        return expression
    }

    private mutating func disjunction() throws -> PredicateExpression {
        var members = [try conjunction()]
        while accept(word: "OR") || accept(symbol: "||") { members.append(try conjunction()) }
        return members.count == 1 ? members[0] : .or(members)
    }

    private mutating func conjunction() throws -> PredicateExpression {
        var members = [try negation()]
        while accept(word: "AND") || accept(symbol: "&&") { members.append(try negation()) }
        return members.count == 1 ? members[0] : .and(members)
    }

    private mutating func negation() throws -> PredicateExpression {
        if accept(word: "NOT") || accept(symbol: "!") {
            return .not(try nested { try $0.negation() })
        }
        if current == .symbol("("), !bracketsOperand {
            position += 1
            let inner = try nested { try $0.disjunction() }
            try expect(symbol: ")")
            return inner
        }
        if accept(word: "TRUEPREDICATE") { return .all }
        if accept(word: "FALSEPREDICATE") { return .none }
        return .comparison(try comparison())
    }

    private mutating func comparison() throws -> PredicateComparison {
        if accept(word: "NONE") {
            throw PredicateFault(sentence: "CloudKit's predicates have no NONE; write NOT and ANY.")
        }
        let quantifier: PredicateComparison.Quantifier =
            accept(word: "ANY", "SOME") ? .any : accept(word: "ALL") ? .all : .none
        let left = try operand()
        let operation = try operation()
        let isSearch =
            operation == .tokenMatches || (operation == .contains && left.isRecord)
        try options(areAllowed: isSearch)
        return PredicateComparison(
            left: left, operation: operation, right: try operand(), quantifier: quantifier)
    }

    private mutating func operation() throws -> PredicateComparison.Operation {
        guard let token = current else {
            throw PredicateFault(
                sentence: "A condition has no operator; put one between its two sides.",
                isMalformed: true)
        }
        position += 1
        if let operation = PredicateComparison.Operation(token) { return operation }
        if case .word(let word) = token {
            throw PredicateFault(
                sentence: "CloudKit does not know the operator “\(word)”; use one that it knows.")
        }
        throw PredicateFault(
            sentence:
                "A condition has no operator; put one between its two sides.")
    }

    /// Parses `[cd]` after an operator. Only a search for words has such options.
    private mutating func options(areAllowed: Bool) throws {
        guard accept(symbol: "[") else { return }
        guard case .word(let options) = current else {
            throw PredicateFault(
                sentence:
                    "An operator's options are not letters; write them such as [cd].")
        }
        position += 1
        try expect(symbol: "]")
        guard areAllowed else {
            throw PredicateFault(
                sentence: "Strings are compared as they are; leave the options [\(options)] out.")
        }
    }

    private mutating func operand() throws -> PredicateOperand {
        guard let token = current else {
            throw PredicateFault(
                sentence:
                    "A condition of the predicate is incomplete; add the missing part.",
                isMalformed: true)
        }
        position += 1
        switch token {
        case .string(let text): return .value(StoredValue(text))
        case .integer(let number): return .value(StoredValue(number))
        case .double(let number): return .value(StoredValue(number))
        case .valueArgument: return PredicateOperand(argument: try nextArgument())
        case .keyArgument:
            guard let key = try nextArgument() as? String else {
                throw PredicateFault(
                    sentence:
                        "The argument of %K is not a String; give it the name of a field.")
            }
            return .key(key)
        case .symbol("{"): return .list(try members(until: "}"))
        case .symbol("("):
            let inner = try nested { try $0.operand() }
            try expect(symbol: ")")
            return inner
        case .name(let name): return .key(name)
        case .word(let word): return try named(word)
        case .symbol(let symbol):
            throw PredicateFault(
                sentence:
                    "“\(symbol)” is used where a field or a value belongs; put one there.")
        }
    }

    private mutating func named(_ word: String) throws -> PredicateOperand {
        switch word.uppercased() {
        case "SELF": return .record
        case "TRUE", "YES": return .value(StoredValue(true))
        case "FALSE", "NO": return .value(StoredValue(false))
        case "NIL", "NULL": return .value(nil)
        default: break
        }
        if word.lowercased() == "self.alltokens" { return .key("allTokens") }
        guard accept(symbol: "(") else { return .key(word) }
        let parts = try members(until: ")")
        switch (word.lowercased(), parts.count) {
        case ("now", 0): return .now
        case ("distancetolocation:fromlocation:", 2): return .distance(parts[0], parts[1])
        // The service decides how text is split into words, so the options have no effect.
        case ("tokenize:using:", 2): return parts[0]
        default:
            throw PredicateFault(
                sentence:
                    "CloudKit does not know the function “\(word)”; leave it out of the"
                    + " predicate.")
        }
    }

    private mutating func members(until end: String) throws -> [PredicateOperand] {
        var members: [PredicateOperand] = []
        if accept(symbol: end) { return members }
        repeat { members.append(try nested { try $0.operand() }) } while accept(symbol: ",")
        try expect(symbol: end)
        return members
    }
}

extension PredicateComparison.Operation {
    /// The operation of a token, if it is an operator.
    fileprivate init?(_ token: PredicateToken) {
        switch token {
        case .symbol("="): self = .equals
        case .symbol("<>"): self = .notEquals
        case .symbol("=<"): self = .lessOrEqual
        case .symbol("=>"): self = .greaterOrEqual
        case .symbol(let text), .word(let text): self.init(rawValue: text.uppercased())
        default: return nil
        }
    }
}
