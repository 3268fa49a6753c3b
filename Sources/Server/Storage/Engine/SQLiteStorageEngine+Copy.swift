import Logging
import StratusRuntime

extension SQLiteStorageEngine {
    /// Another engine in memory with all that this one has now, as an operator's copy of a folder has it:
    /// whoever opens it for writing begins an epoch of their own.
    ///
    /// Only of an engine in memory. The blobs are shared: nobody changes them.
    ///
    /// - Throws: SQLite's error.
    package func copyInMemory(world: World) throws -> SQLiteStorageEngine {
        guard let memory = placement as? MemoryPlacement else {
            preconditionFailure("Copy a folder with the tools for folders.")
        }
        return SQLiteStorageEngine(
            try memory.copy(world: world), world: world, logger: Logger(label: "stratus.storage"))
    }
}
