import Foundation

/// A folder that is removed after the test.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = NSTemporaryDirectory() + "stratus-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // Failing to remove a temporary folder must not fail the test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
