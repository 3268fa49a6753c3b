import StratusWire
import Testing

/// Nicolas Seriot's JSONTestSuite, on both parsers.
@Suite struct JSONTestSuiteTests {
    // Without the folder, `testSuiteCorpusIsComplete` fails.
    static let files = (try? Fixtures.names(in: "JSONTestSuite")) ?? []

    static func files(_ prefix: String) -> [String] {
        files.filter { $0.hasPrefix(prefix) }
    }

    private func accepts(_ file: String, _ parser: JSONDocument.Parser) throws -> Bool {
        parses(try Fixtures.bytes("JSONTestSuite/\(file)"), parser)
    }

    @Test("The corpus is complete")
    func testSuiteCorpusIsComplete() {
        #expect(Self.files("y_").count == 95)
        #expect(Self.files("n_").count == 186)
        #expect(Self.files("i_").count == 35)
    }

    @Test("Valid texts are accepted", arguments: files("y_"), JSONDocument.Parser.available)
    func validTextIsAccepted(file: String, parser: JSONDocument.Parser) throws {
        #expect(try accepts(file, parser))
    }

    @Test("Invalid texts are refused", arguments: files("n_"), JSONDocument.Parser.available)
    func invalidTextIsRefused(file: String, parser: JSONDocument.Parser) throws {
        #expect(try !accepts(file, parser))
    }

    /// The texts that this project's parsers accept, of those for which the choice is free: numbers smaller than
    /// every double are read as zero; all other texts are refused.
    static let accepted: Set<String> = [
        "i_number_double_huge_neg_exp.json", "i_number_real_underflow.json",
    ]

    @Test(
        "Ambiguous texts have the same result in all parsers", arguments: files("i_"),
        JSONDocument.Parser.available)
    func ambiguousTextHasTheSameResultInAllParsers(file: String, parser: JSONDocument.Parser) throws
    {
        #expect(try accepts(file, parser) == Self.accepted.contains(file))
    }
}

/// Whether a parser accepts a text; every value in it is visited.
func parses(_ bytes: [UInt8], _ parser: JSONDocument.Parser) -> Bool {
    do {
        _ = try readWire(WholeTree.self, from: bytes.isEmpty ? [0x20] : bytes, parser: parser)
        return true
    } catch {
        return false
    }
}

/// Reads any text into one canonical line, so that every node is touched and texts can be compared.
struct WholeTree: WireReadable {
    var text = ""

    init(wire node: JSONNode) {
        append(node)
    }

    private mutating func append(_ node: JSONNode) {
        switch node.kind {
        case .object:
            text += "{"
            for (key, member) in node.members {
                text += key.string.debugDescription + ":"
                append(member)
                text += ","
            }
            text += "}"
        case .array:
            text += "["
            for element in node.elements {
                append(element)
                text += ","
            }
            text += "]"
        case .string: text += (node.string ?? "?").debugDescription
        case .integer: text += node.int64?.description ?? "beyond"
        case .double: text += (node.double ?? .nan).description
        case .bool: text += (node.bool ?? false).description
        case .null: text += "null"
        }
    }
}
