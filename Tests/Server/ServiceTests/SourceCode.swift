import Foundation

/// The sources of the package, for tests of their rules.
enum SourceCode {
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")

    /// The code of every file of the sources, by its path, without comments.
    static func files() throws -> [String: String] { try files(at: folder) }

    /// The code of every file in a folder of the sources, by its path in that folder, without comments.
    static func files(in name: String) throws -> [String: String] {
        try files(at: folder.appendingPathComponent(name))
    }

    private static func files(at folder: URL) throws -> [String: String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") }
        return try Dictionary(
            uniqueKeysWithValues: paths.map { path in
                let text = try String(
                    contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
                let code = text.split(separator: "\n")
                    .filter { !$0.drop { $0 == " " }.hasPrefix("//") }
                return (path, code.joined(separator: "\n"))
            })
    }
}
