import Testing

/// The folders in a tests target have the names of the folders in the module that it tests, so that
/// the tests of a file are where its folder says.
@Suite struct FolderTests {
    /// The name of a folder for what several tests of a target use.
    static let support = "Support"

    static let exceptions: [Exception] = []

    /// The folder of the module that a tests target would test by its name; nil for other folders.
    static func module(ofTarget target: String) -> String? {
        if target == "Tests/Testing" { return "Sources/Testing" }
        guard target.hasPrefix("Tests/"), target.hasSuffix("Tests") else { return nil }
        return "Sources/\(target.dropFirst("Tests/".count).dropLast("Tests".count))"
    }

    /// The folders that a file is in, from the outermost one.
    static func folders(of path: String) -> [String] {
        let names = path.split(separator: "/")
        return names.indices.dropFirst().map { names.prefix($0).joined(separator: "/") }
    }

    static func violations(inTests tests: [String], sources: [String]) -> [Violation] {
        let sourceFolders = Set(sources.flatMap { Self.folders(of: $0) })
        return Set(tests.flatMap { Self.folders(of: $0) }).sorted().compactMap { folder in
            let names = folder.split(separator: "/")
            let target = names.dropLast().joined(separator: "/")
            guard let name = names.last, name != support,
                let module = Self.module(ofTarget: target), sourceFolders.contains(module),
                !sourceFolders.contains("\(module)/\(name)")
            else { return nil }
            return Violation(
                path: folder, line: 1,
                sentence: "\(module) has no folder \(name): move each test to the folder named "
                    + "like that of the file it tests, and what tests share to \(support).")
        }
    }

    @Test func foldersOfTestsAreFoldersOfTheirModule() {
        expectNone(
            Self.violations(
                inTests: Repository.tests.map(\.path), sources: Repository.sources.map(\.path)),
            except: Self.exceptions)
    }

    @Test func foldersWithoutCounterpartAreFound() {
        let sources = ["Sources/Server/Service/Zones/ZonesList.swift", "Sources/Testing/A.swift"]
        let tests = [
            "Tests/Server/ServiceTests/World.swift",
            "Tests/Server/ServiceTests/Zones/ZonesTests.swift",
            "Tests/Server/ServiceTests/Support/Zone.swift",
            "Tests/Server/ServiceTests/Huts/HutsTests.swift",
            "Tests/Server/Serving/Huts/Server.swift",
            "Tests/JourneyTests/Proxy/ProxyTests.swift",
            "Tests/Testing/Cloud/CloudTests.swift",
        ]
        let found = Self.violations(inTests: tests, sources: sources)
        #expect(
            found.map(\.path) == ["Tests/Server/ServiceTests/Huts", "Tests/Testing/Cloud"])
    }
}
