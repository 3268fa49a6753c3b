import Foundation
import Testing

/// The pages say what is so: their Swift is compiled, their links lead somewhere, their requirements
/// are all there.
@Suite struct SnippetTests {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static var pages: [String] {
        get throws {
            let documentation = root.appendingPathComponent("Documentation")
            let names =
                FileManager.default.enumerator(atPath: documentation.path)?
                .compactMap { $0 as? String } ?? []
            return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", article]
                + names.filter { $0.hasSuffix(".md") }.map { "Documentation/\($0)" }.sorted()
        }
    }

    static let article =
        "Sources/StratusTesting/StratusTesting.docc/TestingCloudKitCodeInCI.md"
    /// The example of the article: an app's source, and tests that run with these.
    static let articleSources = [
        "Tests/Huts/HutBook.swift", "Tests/DocumentationTests/HutBookTests.swift",
    ]

    @Test func everySwiftSnippetIsCompiled() throws {
        let sources = ["Tests/DocumentationTests/Snippets.swift"] + Self.articleSources
        let compiled = try sources.flatMap { try Self.text($0).split(separator: "\n") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        var count = 0
        for page in try Self.pages {
            for snippet in Self.snippets(in: try Self.text(page)) {
                count += 1
                let missing = snippet.filter { !compiled.contains($0) }
                #expect(missing.isEmpty, "\(page): not compiled: \(missing)")
            }
        }
        #expect(count >= 3)
    }

    /// The lines of each block of Swift; a line of a package manifest is no snippet.
    static func snippets(in page: String) -> [[String]] {
        var snippets: [[String]] = []
        var current: [String]?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed == "```swift" {
                current = []
            } else if trimmed == "```", let lines = current {
                let isManifest = [".package(", "// swift-tools-version"].contains {
                    lines.first?.hasPrefix($0) == true
                }
                if !isManifest { snippets.append(lines) }
                current = nil
            } else if !trimmed.isEmpty {
                current?.append(trimmed)
            }
        }
        return snippets
    }

    /// What a reader copies is what is tested: whole files.
    @Test func theArticleShowsItsExampleInFull() throws {
        let shown = try Self.snippets(in: Self.text(Self.article))
        for path in Self.articleSources {
            let lines = try Self.text(path).split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            #expect(shown.contains(lines), "\(path) is not in the article word for word")
        }
    }

    @Test func theManifestOfTheArticleNamesProducts() throws {
        let manifest = try Self.text("Package.swift")
        let named = try Self.text(Self.article)
            .matches(of: /\.product\(name: "([^"]+)", package: "stratus"\)/)
        #expect(named.count == 3)
        for product in named.map(\.output.1) {
            #expect(manifest.contains(".library(name: \"\(product)\""), "no product \(product)")
        }
    }

    @Test func theEnginesOfTheGuideDoAsItSays() async throws {
        let names = try await Snippets.enginesByHand()
        #expect(names == ["Alpenrose", "Alpenrose"])
        let saved = try await Snippets.anEngineByTheClock()
        #expect(saved.first == saved.hut)
    }

    @Test func everyLinkLeadsSomewhere() throws {
        let link = try Regex(#"\]\(([^)#:]+)(#[^)]*)?\)"#)
        var count = 0
        for page in try Self.pages {
            let folder = Self.root.appendingPathComponent(page).deletingLastPathComponent()
            for match in try Self.text(page).matches(of: link) {
                let target = String(match.output[1].substring ?? "")
                count += 1
                let path = folder.appendingPathComponent(target).path
                #expect(FileManager.default.fileExists(atPath: path), "\(page): \(target)")
            }
        }
        #expect(count > 10)
    }

    @Test func theTestSnippetDoesWhatItSays() async throws {
        let (saved, seen) = try await Snippets.insideATest()
        #expect(seen.recordID == saved.recordID)
    }
}
