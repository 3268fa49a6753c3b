import Logging
import StratusRuntime

extension SQLiteStorageEngine {
    /// Another engine in memory with all current data of this one, like an operator's copy of a folder: the process
    /// that first writes to it begins an epoch of its own.
    ///
    /// Only for an engine in memory. The blobs are shared, since they never change.
    ///
    /// - Throws: SQLite's error.
    package func copyInMemory(world: World) throws -> SQLiteStorageEngine {
        guard let memory = placement as? MemoryPlacement else {
            preconditionFailure(
                "Only an engine in memory can be copied; back up a data folder with FolderBackup.")
        }
        return SQLiteStorageEngine(
            try memory.copy(world: world), world: world, logger: Logger(label: "stratus.storage"))
    }
}
