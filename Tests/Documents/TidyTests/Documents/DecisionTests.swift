import Testing

/// Documents and code refer to decisions that exist, by their numbers.
@Suite struct DecisionTests {
    @Test func decisionsAreNumberedConsecutively() throws {
        let files = Repository.paths(below: "Documentation/Decisions").sorted()
        #expect(!files.isEmpty)
        for (index, path) in files.enumerated() {
            let number = String(path.split(separator: "/").last?.prefix(4) ?? "")
            #expect(Int(number) == index + 1, "\(path)")
            #expect(try Repository.text(path).hasPrefix("# \(number) "), "\(path)")
        }
    }
}
