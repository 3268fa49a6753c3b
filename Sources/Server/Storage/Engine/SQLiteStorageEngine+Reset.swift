import Foundation
import StratusRecords

extension SQLiteStorageEngine {
    /// Deletes all databases of a container in one environment, with everything in their folder.
    ///
    /// The storage must be open ``Access/alone``, and none of these databases may have been used yet. Earlier change
    /// tokens are invalid afterwards: a new database has a new history.
    ///
    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when a service has the folder or a
    ///   database is open, ``StorageError/Code/notWritable`` when the files cannot be removed.
    package func deleteDatabases(of address: ContainerAddress) async throws {
        guard placement.isExclusive, openDatabases == 0 else {
            throw StorageError(
                .inUse, "The data folder is in use. Stop the service that uses it first.",
                path: placement.path(of: DatabaseAddress(address, .public)))
        }
        try await placement.work.run { [placement] in
            try placement.deleteDatabases(of: address)
        }
    }
}

extension DataFolder {
    func deleteDatabases(of address: ContainerAddress) throws {
        let path = Self.folder(of: address, in: path)
        guard FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw StorageError.notWritable(path: path, underlying: error)
        }
        try Self.sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }
}
