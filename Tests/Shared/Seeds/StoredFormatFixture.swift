import Foundation

/// A copy of the files that an earlier build left (Tests/Fixtures/Formats), gone when the test is over.
///
/// ```swift
/// let fixture = try StoredFormatFixture()
/// let cache = try CloudCache(path: fixture.cachePath, remotes: [remote])
/// ```
public final class StoredFormatFixture: Sendable {
    public let folder: String
    /// What the files hold that no name in a test can say: record names, change tokens, links.
    public let facts: [String: String]

    /// The folders that have a service's data folder, the oldest first.
    public static let services = [
        "2026-11", "2026-11-epochs", "2026-11-compound", "2026-11-removals",
    ]
    /// The folders that have a cache file, the oldest first.
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
        // A checkout has the rights that its umask leaves; a service refuses a folder that others may read.
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
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The data folder of a service.
    public var dataFolder: String { folder + "/data" }
    /// A cache file with every kind of row; in the folders of ``caches``.
    public var cachePath: String { folder + "/cache.sqlite" }
    /// The shopping app's file, whose user is in the data folder.
    public var shoppingPath: String { folder + "/shopping.sqlite" }

    /// The files of databases in the data folder.
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
