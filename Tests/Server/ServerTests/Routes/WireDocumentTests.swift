import Foundation
import Hummingbird
import StratusService
import Testing

@testable import StratusServer

/// The chapter "Endpoints" of Documentation/Wire.md has a section for every route that is served,
/// and for no other.
@Suite struct WireDocumentTests {
    @Test func everyRouteHasADocumentSection() throws {
        let missing = try Self.routes().subtracting(Self.sections())
        #expect(missing.sorted() == [])
    }

    @Test func everyDocumentSectionHasARoute() throws {
        let unknown = try Self.sections().subtracting(Self.routes())
        #expect(unknown.sorted() == [])
    }

    /// The served routes, named as in the headings.
    private static func routes() throws -> Set<String> {
        let router = try AccessStage.routes(AccessStage.service()).router()
        return Set(router.routes.map { name(ofPath: "\($0.path)") })
    }

    /// An endpoint is named by the path after the database or, if there is none, after the environment; a
    /// route outside of containers by its whole path.
    private static func name(ofPath path: String) -> String {
        for place in ["/{environment}/{database}/", "/{environment}/"] {
            if let range = path.range(of: place) { return String(path[range.upperBound...]) }
        }
        return path
    }

    /// The routes in the headings: `### GET, HEAD` and then each name in backticks.
    private static func sections() throws -> Set<String> {
        let page = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documentation/Wire.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let chapter = text.split(separator: "\n").drop { $0 != "## Endpoints" }.dropFirst()
            .prefix { !$0.hasPrefix("## ") }
        let headings = chapter.filter { $0.hasPrefix("### ") }
        return Set(
            headings.flatMap { heading in
                heading.matches(of: /`([^`]+)`/).map { String($0.output.1) }
            })
    }
}
