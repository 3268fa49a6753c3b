import StratusCache
import StratusClient
import StratusSyncEngine

/// The engine of a process whose app syncs its private database with a `CKSyncEngine`. Its cache stores the records, and
/// does not sync by itself.
final class DeviceEngine: Sendable {
    /// How often one sync fetches and sends: what a conflict leaves is sent with the next round.
    private static let rounds = 4

    private let store: EngineStore
    private let engine: CKSyncEngine

    /// - Throws: SQLite's error.
    init(_ cache: CloudCache, _ container: CKContainer) throws {
        store = try EngineStore(cache)
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: try store.stateSerialization(), delegate: store)
        configuration.automaticallySync = false
        engine = CKSyncEngine(configuration)
    }

    func sync() async throws {
        for _ in 0..<Self.rounds {
            // What the app has changed in the cache.
            try store.resume(engine)
            try await engine.fetchChanges()
            do {
                try await engine.sendChanges()
            } catch let error as CKError where error.code == .partialFailure {
                // The store decides conflicts and sends their outcome in the next round.
                continue
            }
            if engine.state.pendingRecordZoneChanges.isEmpty,
                engine.state.pendingDatabaseChanges.isEmpty
            {
                return
            }
        }
    }
}
