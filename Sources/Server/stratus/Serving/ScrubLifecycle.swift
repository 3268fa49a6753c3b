import Logging
import ServiceLifecycle
import StratusService
import StratusStorage

/// Checks all databases slowly while the service runs.
struct ScrubLifecycle: ServiceLifecycle.Service {
    let storage: SQLiteStorageEngine
    let logger: Logger

    func run() async {
        let doctor = Doctor(storage: storage)
        let scrub = FolderScrub(storage, logger: logger) {
            try await doctor.contents(of: $0).findings
        }
        await cancelWhenGracefulShutdown { await scrub.run() }
    }
}
