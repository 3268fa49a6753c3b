import Foundation

/// A folder that is removed when the test run's process ends, for files that are open until then.
package enum RunFolder {
    private static let path: String = {
        let path = NSTemporaryDirectory() + "stratus-run-" + UUID().uuidString
        atexit {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: RunFolder.path)
        }
        return path
    }()

    /// The path of a new, empty folder in it.
    package static func newFolder() throws -> String {
        let folder = path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return folder
    }
}
