import GRDB

extension DatabaseQueue {
    /// Opens a cache's file as another program would: it waits while the cache writes, or ends a read that was running
    /// when the cache was closed.
    static func other(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
