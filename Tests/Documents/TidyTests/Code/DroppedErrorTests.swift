import Testing

/// An error that is dropped, and a guarantee that the compiler does not check, need a comment with the
/// reason. In tests a `catch` needs none.
@Suite struct DroppedErrorTests {
    static func violations(in file: SourceText) -> [Violation] {
        let comments = CommentLines(file)
        let isTest = file.path.hasPrefix("Tests/")
        var found: [Violation] = []
        for index in file.code.indices.dropLast() where file.code[index].kind == .word {
            let token = file.code[index]
            switch token.text {
            case "try" where file.code[index + 1].text == "?":
                guard !comments.isBeside(index), !(isTest && file.needsNoReasonInTest(index))
                else { continue }
                found.append(
                    Violation(
                        path: file.path, line: token.line,
                        sentence: "try? drops an error: say why it may, in a comment on the line "
                            + "or above."))
            case "catch" where !isTest:
                guard let catches = Catch(at: index, in: file), catches.dropsTheError,
                    !comments.has(lines: (token.line - 1)...catches.lastLine)
                else { continue }
                found.append(
                    Violation(
                        path: file.path, line: token.line,
                        sentence: "catch drops the error: say why it may, in a comment inside."))
            case "unchecked" where file.code[max(index - 1, 0)].text == "@":
                guard !comments.isBeside(index) else { continue }
                found.append(
                    Violation(
                        path: file.path, line: token.line,
                        sentence: "@unchecked: say what guards the state, in a comment above."))
            case "unsafe"
            where index > 1 && file.code[index - 1].text == "("
                && file.code[index - 2].text == "nonisolated":
                guard !comments.isBeside(index) else { continue }
                found.append(
                    Violation(
                        path: file.path, line: token.line,
                        sentence: "nonisolated(unsafe): say what guards the state, in a comment "
                            + "above."))
            default: continue
            }
        }
        return found
    }

    @Test func droppedErrorHasReasonInComment() {
        expectNone(Repository.all.flatMap(Self.violations))
    }

    @Test func droppedErrorsAreFound() {
        let text = """
            func a() throws {
                try? b()
                // It may.
                try? b()
                let c = 1
                do { try b() } catch {}
                do { try b() } catch { print(error) }
                do { try b() } catch let other as D { print("\\(other)") }
                do { try b() } catch let other { throw E() }
                do { try b() } catch is D {}
                do { try b() } catch let other as D {
                    print(c)
                }
                do { try b() } catch {
                    // It may.
                }
            }
            func b() {
                // Both may.
                guard let c = try? d() else { return }
                try? d()
                do { try d() } catch let other as D where other.isFine { return }
            }
            final class F: @unchecked Sendable {}
            /// Guarded by a lock.
            final class G: @unchecked Sendable {}
            func h() {
                nonisolated(unsafe) var a = 1
                // Only the closure below writes.
                nonisolated(unsafe) var b = 2
            }
            """
        let found = Self.violations(in: SourceText(path: "a.swift", text))
        #expect(found.map(\.line) == [2, 6, 10, 11, 22, 24, 28])
    }

    @Test func droppedErrorsOfTestsAreFound() {
        let text = """
            func a() async throws {
                defer { try? files.removeItem(at: b) }
                defer { for b in c { try? FileManager.default.removeItem(at: b) } }
                try? files.removeItem(at: b)
                try? await Task.sleep(for: .seconds(1))
                d { log.add("\\((try? $0.value.get()) != nil)") }
                d { e = try? f.get(e) }
                do { try b() } catch {}
            }
            final class G: @unchecked Sendable {}
            """
        let found = Self.violations(in: SourceText(path: "Tests/a.swift", text))
        #expect(found.map(\.line) == [4, 7, 10])
    }
}

extension SourceText {
    /// Whether the `try?` at `index` in `code` is one that tests use without a reason: a file is removed in a `defer`,
    /// a sleep ends early, or a `Result` becomes an optional, which the test compares.
    fileprivate func needsNoReasonInTest(_ index: Int) -> Bool {
        let call = code[(index + 2)...].prefix { $0.kind == .word || $0.text == "." }
        let rest = code[call.endIndex...].prefix(2).map(\.text)
        guard rest.first == "(" else { return false }
        return switch call.last?.text {
        case "sleep": true
        case "get": rest == ["(", ")"]
        case "removeItem": isInDefer(index)
        default: false
        }
    }

    private func isInDefer(_ index: Int) -> Bool {
        code.indices[..<index].contains { opening in
            guard code[opening].text == "defer", code[opening + 1].text == "{",
                let closing = end(of: opening + 1)
            else { return false }
            return closing > index
        }
    }
}

/// One catch clause.
private struct Catch {
    /// Whether an error ends here without being used. A pattern shows which errors, but not why they may be
    /// dropped.
    var dropsTheError: Bool
    var lastLine: Int

    /// Words that pass the failure on.
    private static let endings: Set<String> = ["throw", "preconditionFailure", "fatalError"]

    init?(at index: Int, in file: SourceText) {
        var opening = index + 1
        while opening < file.code.count, file.code[opening].text != "{" { opening += 1 }
        guard let closing = file.end(of: opening) else { return nil }
        let pattern = file.code[(index + 1)..<opening].map(\.text)
        let names = pattern.indices.dropLast()
            .filter { ["let", "var"].contains(pattern[$0]) }.map { pattern[$0 + 1] }
        let body = Set(file.code[opening...closing].map(\.text))
        dropsTheError = body.isDisjoint(with: Self.endings.union(names + ["error"]))
        lastLine = file.code[closing].line
    }
}

/// The lines that have comments.
private struct CommentLines {
    private let file: SourceText
    private let lines: Set<Int>

    init(_ file: SourceText) {
        self.file = file
        lines = Set(file.tokens.filter { $0.kind == .comment }.flatMap { $0.line...$0.lastLine })
    }

    func has(lines range: ClosedRange<Int>) -> Bool {
        range.contains(where: lines.contains)
    }

    /// Whether there is a comment on the lines of the statement with this token, or directly above it.
    func isBeside(_ index: Int) -> Bool {
        let line = file.code[index].line
        var first = index
        while first > 0, file.code[first - 1].text != "{", file.code[first - 1].text != "}",
            !(isNewStatement(first) && file.code[first].line < line)
        {
            first -= 1
        }
        let start = min(file.code[first].line, line)
        if has(lines: (start - 1)...line) { return true }
        // One comment is enough for consecutive lines.
        let above = file.code.indices.dropLast().first {
            file.code[$0].line == start - 1 && file.code[$0].text == "try"
                && file.code[$0 + 1].text == "?"
        }
        return above.map(isBeside) ?? false
    }

    /// Whether this token begins a line outside of brackets that an earlier line opened.
    private func isNewStatement(_ index: Int) -> Bool {
        index == 0
            || file.code[index - 1].line < file.code[index].line
                && ![".", "?", "&", "|", "=", ",", "(", "["].contains(file.code[index].text)
                && ![",", "=", "(", "[", ":"].contains(file.code[index - 1].text)
    }
}
