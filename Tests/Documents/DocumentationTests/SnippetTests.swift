import CloudKit
import Foundation
import StratusTesting
import Testing

/// Checks the documentation: its Swift is compiled, its links have targets, and each catalogue has the required
/// sections.
@Suite struct SnippetTests {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static var pages: [String] {
        get throws {
            let documentation = root.appendingPathComponent("Documentation")
            let names =
                FileManager.default.enumerator(atPath: documentation.path)?
                .compactMap { $0 as? String } ?? []
            return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + catalogues
                + names.filter { $0.hasSuffix(".md") }.map { "Documentation/\($0)" }.sorted()
        }
    }

    /// The pages of the products' DocC catalogues.
    static var catalogues: [String] {
        ["Macros/Sources", "Sources"].flatMap { folder in
            let place = root.appendingPathComponent(folder).path
            return (FileManager.default.enumerator(atPath: place) ?? .init())
                .compactMap { $0 as? String }
                .filter { $0.contains(".docc/") && $0.hasSuffix(".md") }
                .map { "\(folder)/\($0)" }.sorted()
        }
    }

    static let article =
        "Sources/Testing/StratusTesting.docc/TestingCloudKitCodeInCI.md"
    /// The article's example: an app's source and its tests, which run with these tests.
    static let articleSources = [
        "Tests/Documents/Huts/HutBook.swift",
        "Tests/Documents/DocumentationTests/HutBookTests.swift",
    ]

    /// Newcomers run the first program of README.md more than once. It runs in a separate process, since it uses the
    /// process's connection.
    @Test func firstProgramRunsTwice() async {
        await #expect(processExitsWith: .success) {
            let connection = try await TestCloud().connect(user: "alice", device: "phone")
            CloudConnection.use(connection)
            try await Snippets.runsOnBoth()
            try await Snippets.runsOnBoth()
        }
    }

    @Test func everySwiftSnippetIsCompiled() throws {
        let folder = "Tests/Documents/DocumentationTests"
        let sources =
            [
                "\(folder)/Snippets.swift", "\(folder)/CatalogueSnippets.swift",
                "\(folder)/WhichLayerSnippets.swift",
                "\(folder)/OfflineFirst.swift",
            ]
            + Self.articleSources
            + [
                "Tests/Documents/MappingDemo/main.swift",
                // Compiled by Scripts/test-packages.
                "Macros/Tests/StratusMacrosTests/MacroTypesTests.swift",
            ]
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

    /// Overview, three main tasks and limits of each library product.
    @Test func everyProductHasACatalogue() throws {
        let manifests = try Self.text("Package.swift") + Self.text("Macros/Package.swift")
        let products = manifests.matches(of: /\.library\(\s*name: "(\w+)"/)
        #expect(products.count > 13)
        for product in products.map(\.output.1) {
            let page = try #require(
                Self.catalogues.first { $0.hasSuffix("/\(product).docc/\(product).md") },
                "\(product) has no DocC catalogue: add \(product).docc/\(product).md")
            let text = try Self.text(page)
            for heading in ["# ``\(product)``", "## Overview", "## Limits"] {
                #expect(text.contains(heading), "\(page) has no \(heading)")
            }
            // It only re-exports another module's symbols under another name.
            guard product != "CoreLocation" else { continue }
            let tasks = text.components(separatedBy: "\n### ").count - 1
            #expect(tasks >= 3, "\(page) has \(tasks) tasks")
        }
    }

    @Test func catalogueSnippetsRun() async throws {
        let wire = try CatalogueSnippets.wire()
        #expect(wire.0 == wire.1 && wire.2 == "records/lookup")
        #expect(CatalogueSnippets.records().0.count == 2)
        guard case .perform = CatalogueSnippets.sync() else {
            Issue.record("a new session has something to do")
            return
        }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("snippets-\(UUID().uuidString)")
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(at: folder)
        }
        #expect(try await CatalogueSnippets.storage(folder.path + "/storage") == ["Trips"])
        let (alice, isHealthy) = try await CatalogueSnippets.service(folder.path + "/service")
        #expect(!alice.isEmpty && isHealthy)
    }

    /// The lines of each block of Swift; blocks of package manifests do not count as snippets.
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

    /// The article shows the tested files completely, so readers copy tested code.
    @Test func articleShowsExampleInFull() throws {
        let shown = try Self.snippets(in: Self.text(Self.article))
        for path in Self.articleSources {
            let lines = try Self.text(path).split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            #expect(shown.contains(lines), "\(path) is not in the article word for word")
        }
    }

    @Test func articleManifestNamesProducts() throws {
        let manifest = try Self.text("Package.swift")
        let named = try Self.text(Self.article)
            .matches(of: /\.product\(name: "([^"]+)", package: "stratus"\)/)
        #expect(named.count == 3)
        for product in named.map(\.output.1) {
            #expect(manifest.contains(".library(name: \"\(product)\""), "no product \(product)")
        }
    }

    @Test func guideEngineSnippetsSync() async throws {
        let names = try await Snippets.enginesByHand()
        #expect(names == ["Alpenrose", "Alpenrose"])
        let saved = try await Snippets.anEngineByTheClock()
        #expect(saved.first == saved.hut)
    }

    @Test func everyLinkHasTarget() throws {
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

    @Test func testSnippetSavesAndFetches() async throws {
        let (saved, seen) = try await Snippets.insideATest()
        #expect(seen.recordID == saved.recordID)
    }
}
