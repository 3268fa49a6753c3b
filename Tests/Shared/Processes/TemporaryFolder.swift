import Foundation

/// A folder that is gone when the test is over.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = NSTemporaryDirectory() + "stratus-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
