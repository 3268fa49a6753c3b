import StratusCache
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import Synchronization

/// An app on a device with an engine, whose cache is in memory, and whose disk is full at times.
final class FullDiskDevice {
    /// An app's delegate on a device whose disk is full at times.
    final class Delegate: CKSyncEngineDelegate {
        let store: EngineStore
        private let file: MemoryCacheFile
        private let isUnwritten = Mutex<@Sendable (Int) -> Bool>({ _ in false })
        private let pageCount = Mutex(0)
        private let whenUnwritten = Mutex<(@Sendable () -> Void)?>(nil)
        private let fetches = Mutex(0)

        init(_ store: EngineStore, _ file: MemoryCacheFile) {
            self.store = store
            self.file = file
        }

        var fetchCount: Int { fetches.withLock { $0 } }

        /// Decides which of the next pages of records cannot be written, by their numbers from 1.
        ///
        /// - Parameter then: Runs after such a page.
        func fail(
            then: (@Sendable () -> Void)? = nil, _ isUnwritten: @escaping @Sendable (Int) -> Bool
        ) {
            pageCount.withLock { $0 = 0 }
            self.isUnwritten.withLock { $0 = isUnwritten }
            whenUnwritten.withLock { $0 = then }
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            var isUnwritten = false
            if case .willFetchChanges = event { fetches.withLock { $0 += 1 } }
            if case .fetchedRecordZoneChanges = event {
                let number = pageCount.withLock { count in
                    count += 1
                    return count
                }
                isUnwritten = self.isUnwritten.withLock { $0(number) }
            }
            if isUnwritten { file.setWriteFailure { _ in .storageFull } }
            await store.handleEvent(event, syncEngine: syncEngine)
            if isUnwritten {
                file.setWriteFailure(nil)
                whenUnwritten.withLock { $0 }?()
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            await store.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
        }
    }

    let container: CKContainer
    let file: MemoryCacheFile
    let cache: CloudCache
    private let isAutomatic: Bool
    private(set) var delegate: Delegate
    private(set) var engine: CKSyncEngine

    /// - Parameter prepare: Changes the file before the engine is created.
    init(
        _ cloud: TestCloud, clock: TestClock? = nil, settings: SyncSettings = .quick,
        prepare: (CloudCache, MemoryCacheFile) throws -> Void = { _, _ in }
    ) async throws {
        container = CloudDevice.container(
            try await cloud.connect(
                user: "alice", device: "phone", world: clock?.world ?? .live))
        isAutomatic = clock != nil
        file = try MemoryCacheFile()
        cache = try CloudCache(
            memory: file, container: container, settings: settings, resolver: FieldWise(),
            world: clock?.world ?? .live)
        try prepare(cache, file)
        delegate = Delegate(try EngineStore(cache), file)
        engine = try Self.engine(container, delegate, isAutomatic)
    }

    /// A phone whose disk is full at times, and a tablet of the same person.
    static func withTablet() async throws -> (
        cloud: TestCloud, phone: FullDiskDevice, tablet: EngineDevice
    ) {
        let cloud = TestCloud()
        return (
            cloud, try await FullDiskDevice(cloud), try await EngineDevice(cloud, "tablet")
        )
    }

    private static func engine(
        _ container: CKContainer, _ delegate: Delegate, _ isAutomatic: Bool
    ) throws -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: try delegate.store.stateSerialization(), delegate: delegate)
        configuration.automaticallySync = isAutomatic
        let engine = CKSyncEngine(configuration)
        try delegate.store.resume(engine)
        return engine
    }

    func restart() throws {
        delegate = Delegate(try EngineStore(cache), file)
        engine = try Self.engine(container, delegate, isAutomatic)
    }

    func save(_ name: String, _ text: String) throws {
        let id = CKRecord.ID(recordName: name, zoneID: .list)
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
        record["text"] = text
        try delegate.store.save([record], engine)
    }

    func texts() throws -> [String: String] { try cache.texts() }

    func sync() async throws {
        for _ in 0..<3 {
            try await engine.fetchChanges()
            do { try await engine.sendChanges() } catch is CKError {}
        }
    }
}
