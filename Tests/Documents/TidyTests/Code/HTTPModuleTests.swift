import Testing

/// Only the modules that Documentation/Architecture.md names use HTTP.
@Suite struct HTTPModuleTests {
    static let libraries: Set = [
        "AsyncHTTPClient", "HTTPTypes", "Hummingbird", "HummingbirdCore", "NIOHTTP1", "NIOHTTP2",
        "NIOHTTPTypes",
    ]
    static let folders = [
        "Apps/Shopping/Web/", "Sources/Device/Client/", "Sources/Server/Server/",
        "Sources/Server/stratus/",
    ]

    static func violations(in file: SourceText) -> [Violation] {
        guard !folders.contains(where: file.path.hasPrefix) else { return [] }
        return zip(file.code, file.code.dropFirst()).compactMap { word, name in
            guard word.text == "import", libraries.contains(name.text) else { return nil }
            return Violation(
                path: file.path, line: word.line,
                sentence: "\(name.text) is imported here: HTTP belongs to the modules that "
                    + "Documentation/Architecture.md names.")
        }
    }

    @Test func onlyNamedModulesSpeakHTTP() {
        expectNone(Repository.sources.flatMap(Self.violations))
    }

    @Test func otherModulesWithHTTPAreFound() {
        let text = "import Foundation\nimport Hummingbird\n"
        let path = "Sources/Device/Cache/A.swift"
        #expect(Self.violations(in: SourceText(path: path, text)).map(\.line) == [2])
        let page = SourceText(path: "Apps/Shopping/Web/A.swift", text)
        #expect(Self.violations(in: page).isEmpty)
    }
}
