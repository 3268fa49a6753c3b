import Logging
import ServiceLifecycle
import StratusStorage

/// Looks through all databases slowly while the service runs.
struct ScrubLifecycle: ServiceLifecycle.Service {
    let storage: SQLiteStorageEngine
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown { await FolderScrub(storage, logger: logger).run() }
    }
}
