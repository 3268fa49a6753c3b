import Testing

/// Files that depend on each other in a cycle can only be understood together, so cycles must be short.
@Suite struct FileCycleTests {
    /// How many files the longest cycle of each module has; in other modules no two files depend on each other.
    private static let longest = [
        "Device/Cache": 3,
        // A record has references, assets and a share, and all of them name records.
        "Device/Client": 13,
        // The map of a type names the type, and its fields and references do too.
        "Device/Mapping": 4,
        "Device/Sync": 2,
        "Device/SyncEngine": 3,
        "Server/Schema": 2,
        "Server/Server": 4,
        // The decisions of a modify request have to refer to each other.
        "Server/Service": 6,
        "Server/Storage": 2,
        "Server/stratus": 2,
        "Shared/Records": 2,
        "Shared/Wire": 2,
        "Simulation/Worlds": 2,
        "Testing": 3,
    ]

    @Test func dependencyCyclesOfFilesAreShort() throws {
        let modules = Dictionary(grouping: try SourceCode.files()) { Self.module(of: $0.key) }
        #expect(modules.count > 20)
        for (module, files) in modules {
            let cycles = Self.cycles(
                of: Dictionary(uniqueKeysWithValues: files.map { ($0.key, $0.value) }))
            let longest = try #require(cycles.max { $0.count < $1.count })
            #expect(
                longest.count <= Self.longest[module, default: 1],
                "These depend on each other; move the type that ties them: \(longest.sorted())")
        }
    }

    /// The folder of a file's module: `Testing` has no others beside it.
    private static func module(of path: String) -> String {
        path.split(separator: "/").prefix(path.hasPrefix("Testing/") ? 1 : 2)
            .joined(separator: "/")
    }

    @Test func dependencyCyclesAreFound() {
        let cycles = Self.cycles(of: [
            "A.swift": "struct A { var b: B }", "B.swift": "public enum B { case c(C) }",
            "C.swift": "final class C { let a: A }", "D.swift": "struct D { let a: A }",
            "E.swift": "struct E { let text = \"D\" }",
        ])
        #expect(
            cycles.map { $0.sorted() }.sorted { $0.count > $1.count }.first
                == ["A.swift", "B.swift", "C.swift"])
        #expect(cycles.count == 3)
    }

    /// The files in groups: two are in the same group if each depends on the other, by the names of types.
    static func cycles(of files: [String: String]) -> [Set<String>] {
        let words = files.mapValues(Self.words)
        var places: [String: String] = [:]
        for (path, code) in files {
            // Nested types are referred to with their outer type.
            for line in code.split(separator: "\n") where !line.hasPrefix(" ") {
                let words = Self.words(of: String(line))
                for (keyword, name) in zip(words, words.dropFirst())
                where ["struct", "class", "enum", "actor", "protocol"].contains(keyword) {
                    places[name] = path
                }
            }
        }
        let dependencies = words.mapValues { Set($0.compactMap { places[$0] }) }
        let reached = Dictionary(
            uniqueKeysWithValues: files.keys.map { ($0, reach(from: $0, by: dependencies)) })
        let cycles = reached.map { path, others in
            others.filter { reached[$0]?.contains(path) == true }.union([path])
        }
        return Array(Set(cycles))
    }

    private static func reach(
        from path: String, by dependencies: [String: Set<String>]
    ) -> Set<String> {
        var found: Set<String> = []
        var open = [path]
        while let next = open.popLast() {
            for other in dependencies[next] ?? [] where found.insert(other).inserted {
                open.append(other)
            }
        }
        return found
    }

    /// The words of the code outside strings.
    private static func words(of code: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var isString = false
        var isEscaped = false
        for byte in code.utf8 {
            let isQuote = byte == UInt8(ascii: "\"") && !isEscaped
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            if isQuote { isString.toggle() }
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                if !isString { word.append(byte) }
            default:
                if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
                word = []
            }
        }
        return words
    }
}
