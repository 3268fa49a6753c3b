import Foundation
import StratusCache
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

/// An app on a device: an engine that syncs on request or automatically, and a cache that does not sync itself.
final class EngineDevice {
    let connection: CloudConnection
    let container: CKContainer
    private let isAutomatic: Bool
    private let resolver: any ConflictResolver
    let path = NSTemporaryDirectory() + "engine-\(UUID().uuidString).sqlite"
    private(set) var cache: CloudCache
    private(set) var store: EngineStore
    private(set) var engine: CKSyncEngine

    /// - Parameter clock: The clock of an automatic engine; nil for an engine that syncs on request.
    convenience init(
        _ cloud: TestCloud, _ device: String, user: String = "alice", clock: TestClock? = nil,
        resolver: any ConflictResolver = FieldWise()
    ) async throws {
        try self.init(
            try await cloud.connect(user: user, device: device, world: clock?.world ?? .live),
            isAutomatic: clock != nil, resolver: resolver)
    }

    init(
        _ connection: CloudConnection, isAutomatic: Bool = false,
        resolver: any ConflictResolver = FieldWise()
    ) throws {
        self.isAutomatic = isAutomatic
        self.resolver = resolver
        self.connection = connection
        container = CloudDevice.container(connection)
        try EmptyCacheFile.write(to: path)
        cache = try CloudCache(path: path, container: container, resolver: resolver)
        store = try EngineStore(cache)
        engine = try Self.engine(container, store, isAutomatic)
    }

    /// A phone and a tablet of one person.
    ///
    /// - Parameter texts: The texts of records that the phone has created and the tablet has fetched.
    static func pair(
        _ cloud: TestCloud = TestCloud(), _ texts: KeyValuePairs<String, String> = [:],
        resolver: any ConflictResolver = FieldWise()
    ) async throws -> (phone: EngineDevice, tablet: EngineDevice) {
        let phone = try await EngineDevice(cloud, "phone", resolver: resolver)
        let tablet = try await EngineDevice(cloud, "tablet", resolver: resolver)
        if texts.isEmpty { return (phone, tablet) }
        for (name, text) in texts { try phone.save(name, text) }
        for app in [phone, tablet, phone] { try await app.sync() }
        return (phone, tablet)
    }

    /// A phone that has deleted the record "a" and created it again, and a tablet. Only the deletion was sent.
    static func pairWithRecreatedRecord(
        _ cloud: TestCloud
    ) async throws -> (phone: EngineDevice, tablet: EngineDevice) {
        let (phone, tablet) = try await pair(cloud, ["a": "1"])
        try phone.delete("a")
        try await phone.engine.sendChanges()
        try phone.save("a", "new")
        return (phone, tablet)
    }

    /// An engine that continues from the store's state.
    static func engine(
        _ container: CKContainer, _ store: EngineStore, _ isAutomatic: Bool
    ) throws -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: try store.stateSerialization(), delegate: store)
        configuration.automaticallySync = isAutomatic
        let engine = CKSyncEngine(configuration)
        try store.resume(engine)
        return engine
    }

    /// Ends the process and starts it again.
    func restart() throws {
        try cache.close()
        cache = try CloudCache(path: path, container: container, resolver: resolver)
        store = try EngineStore(cache)
        engine = try Self.engine(container, store, isAutomatic)
    }

    /// The file's cache in another process.
    func otherCache() throws -> CloudCache {
        try CloudCache(path: path, container: container, resolver: resolver)
    }

    func save(_ name: String, _ text: String) throws {
        let id = CKRecord.ID(recordName: name, zoneID: .list)
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
        record["text"] = text
        try store.save([record], engine)
    }

    func delete(_ name: String) throws {
        try store.save(
            [], deleting: [CKRecord.ID(recordName: name, zoneID: .list)], engine)
    }

    func texts() throws -> [String: String] { try cache.texts() }

    /// Syncs until nothing is left to send; a conflict takes a second round.
    func sync() async throws {
        for _ in 0..<4 {
            try await engine.fetchChanges()
            do {
                try await engine.sendChanges()
            } catch let error as CKError where error.code == .partialFailure {
                continue
            }
            if engine.state.pendingRecordZoneChanges.isEmpty { return }
        }
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-lock"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    /// Saves a new record into an existing zone, without getting an answer.
    func sendUnanswered(
        _ name: String, _ cloud: TestCloud, _ effect: DeviceFaults.Effect
    ) async throws {
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: .list))])
        try await engine.sendChanges()
        cloud.faults(on: "phone").next(of: RecordsModify.self, effect)
        try save(name, "1")
        await #expect(throws: CKError.self) { try await engine.sendChanges() }
    }

    /// Expects that neither device has a record after the other one has deleted this one.
    func expectNoRecords(
        afterDeletionOf name: String, by other: EngineDevice,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try other.delete(name)
        try await other.sync()
        for app in [self, other] { try await app.sync() }
        for app in [self, other] {
            #expect(try app.texts().isEmpty, sourceLocation: sourceLocation)
        }
    }
}
