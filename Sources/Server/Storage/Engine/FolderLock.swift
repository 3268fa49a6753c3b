import Foundation

/// The lock of a data folder, as a service holds it: for commands that must have the folder alone without
/// opening it.
package final class FolderLock: Sendable {
    private let files: [Int32]

    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when a process has the folder.
    package init(_ folder: String) throws {
        files = try DataFolder.lock(folder: folder)
    }

    deinit {
        for file in files { close(file) }
    }
}
