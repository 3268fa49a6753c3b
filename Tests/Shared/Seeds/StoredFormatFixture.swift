import Foundation

/// A copy of the files of an earlier build (Tests/Fixtures/Formats), removed after the test.
///
/// ```swift
/// let fixture = try StoredFormatFixture()
/// let cache = try CloudCache(path: fixture.cachePath, remotes: [remote])
/// ```
public final class StoredFormatFixture: Sendable {
    public let folder: String
    /// Facts about the files that tests cannot know: record names, change tokens, links.
    public let facts: [String: String]

    /// The fixtures with a service's data folder, oldest first.
    public static let services = [
        "2026-11", "2026-11-epochs", "2026-11-compound", "2026-11-removals",
    ]
    /// The fixtures with a cache file, oldest first.
    public static let caches = [
        "2026-11", "2026-11-databases", "2026-11-events", "2026-11-assets", "2026-11-deletions",
        "2026-11-records", "2026-11-names", "2026-11-unanswered",
    ]

    /// - Parameter name: the folder in Tests/Fixtures/Formats: the month in which the files were made.
    public init(_ name: String = "2026-11") throws {
        let source = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/Formats/\(name)")
        folder = NSTemporaryDirectory() + "stratus-formats-" + UUID().uuidString
        try FileManager.default.copyItem(atPath: source.path, toPath: folder)
        // A checkout has the permissions of its umask; a service refuses a folder that others can read.
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let path = folder + "/" + name
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            try FileManager.default.setAttributes(
                [.posixPermissions: isFolder.boolValue ? 0o700 : 0o600], ofItemAtPath: path)
        }
        facts = try JSONDecoder().decode(
            [String: String].self,
            from: Data(contentsOf: source.appendingPathComponent("facts.json")))
    }

    deinit {
        // Failing to remove a temporary folder must not fail the test.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The data folder of a service.
    public var dataFolder: String { folder + "/data" }
    /// A cache file with every kind of row; in the fixtures of ``caches``.
    public var cachePath: String { folder + "/cache.sqlite" }
    /// The shopping app's file, whose user is in the data folder.
    public var shoppingPath: String { folder + "/shopping.sqlite" }

    /// The files of the databases in the data folder.
    public func recordFiles() throws -> [String] {
        let databases = dataFolder + "/databases"
        return try FileManager.default.subpathsOfDirectory(atPath: databases)
            .filter { $0.hasSuffix(".sqlite") }.map { databases + "/" + $0 }.sorted()
    }

    public struct MissingFact: Error { public let name: String }

    public func fact(_ name: String) throws -> String {
        guard let fact = facts[name] else { throw MissingFact(name: name) }
        return fact
    }
}
