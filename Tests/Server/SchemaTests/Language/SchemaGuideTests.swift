import Foundation
import StratusSchema
import Testing

/// The schemas and invariants in the guide, Documentation/Schema.md.
@Suite struct SchemaGuideTests {
    static func guide() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(
            contentsOf: root.appendingPathComponent("Documentation/Schema.md"), encoding: .utf8)
    }

    @Test func examplesInTheGuideParse() throws {
        let texts = try Self.guide().components(separatedBy: "```schema\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(!texts.isEmpty)
        for text in texts {
            let schema = try ContainerSchema(text: text)
            #expect(try ContainerSchema(text: schema.text) == schema)
        }
    }

    @Test func guideListsEveryInvariant() throws {
        let guide = try Self.guide()
        for invariant in SchemaInvariant.allCases { #expect(guide.contains("| \(invariant) |")) }
    }
}
