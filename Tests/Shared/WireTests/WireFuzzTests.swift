import StratusWire
import TestSeeds
import Testing

/// Mutations of valid bodies: nothing crashes, hangs or is misread.
@Suite struct WireFuzzTests {
    @Test("Mutated bodies are read or refused", arguments: ExampleTests.examples)
    func mutatedBodyIsReadOrRefused(example: ExampleTests.Example) throws {
        let original = try Fixtures.bytes("Examples/\(example.name).json")
        for seed in Seeds.forTest("WireFuzzTests, mutated", count: 200) {
            var generator = Generator(seed: seed)
            let body = mutate(original, &generator)
            for parser in JSONDocument.Parser.available {
                guard let written = attempt({ try example.rewrite(body, parser) }) else { continue }
                // A body that was understood can be written, and has the same meaning.
                #expect(
                    attempt({ try example.rewrite(written, parser) }) == written, "seed \(seed)")
            }
        }
    }

    @Test("Both parsers read the same tree, or both refuse", arguments: ExampleTests.examples)
    func bothParsersReadTheSameTree(example: ExampleTests.Example) throws {
        guard JSONDocument.Parser.available.count == 2 else { return }
        let original = try Fixtures.bytes("Examples/\(example.name).json")
        for seed in Seeds.forTest("WireFuzzTests, agreement", count: 200) {
            var generator = Generator(seed: seed)
            let body = mutate(original, &generator)
            let trees = JSONDocument.Parser.available.map { parser in
                attempt { try readWire(WholeTree.self, from: body, parser: parser).text }
            }
            #expect(
                trees[0] == trees[1], "seed \(seed): \(String(decoding: body, as: UTF8.self))")
        }
    }

    private func attempt<Value>(_ read: () throws -> Value) -> Value? {
        // Most mutations break the body; being refused is the expected outcome.
        try? read()
    }

    private func mutate(_ body: [UInt8], _ generator: inout Generator) -> [UInt8] {
        let tokens = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "null", "true", "-", "1e5", "0.5", "\\u0000",
            "\\ud800", "\u{FEFF}", "{}", "[]", "\"type\":\"BYTES\",", "99999999999999999999",
        ].map { Array($0.utf8) }
        var body = body
        for _ in 0...generator.below(3) where !body.isEmpty {
            let place = generator.below(body.count)
            switch generator.below(6) {
            case 0: body[place] = UInt8(truncatingIfNeeded: generator.next())
            case 1: body[place] ^= 1 << UInt8(generator.below(8))
            case 2: body.remove(at: place)
            case 3: body.insert(contentsOf: tokens[generator.below(tokens.count)], at: place)
            case 4: body.removeSubrange(place..<min(body.count, place + generator.below(40)))
            default:
                let end = min(body.count, place + generator.below(60))
                body.insert(contentsOf: body[place..<end], at: generator.below(body.count))
            }
        }
        return body
    }
}
