// The Swift of the products' DocC catalogues, so that it is compiled. SnippetTests checks that every
// snippet is here word for word; what a snippet leaves out (functions around it) is added here.
import CloudKit
import Foundation
import GRDB
import Observation
import StratusCache
import StratusMapping
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire

enum CatalogueSnippets {
    static func records() -> ([DatabaseAddress], [Field], Limits) {
        let trails = ContainerAddress(
            container: "iCloud.org.example.Trails", environment: .development)
        let shared = DatabaseAddress(trails, .public)
        let own = DatabaseAddress(trails, .private(owner: "_alice"))

        let beds = Field(name: "beds", value: .int64(24))
        let tags = Field(name: "tags", value: .stringList(["hut", "lake"]))

        var limits = Limits()
        limits.fieldsPerRecord = 100
        limits.longPollSeconds = 20
        return ([shared, own], [beds, tags], limits)
    }

    /// Run by the tests as it stands.
    static func wire() throws -> (RecordsLookup.Request, RecordsLookup.Request, String) {
        let request = RecordsLookup.Request(records: [.init(recordName: "hut-3")])
        var writer = JSONWriter()
        request.write(to: &writer)
        let body = writer.finish()

        let read = try body.withUnsafeBytes { bytes in
            try JSONDocument(parsing: bytes).withRoot { try RecordsLookup.Request(wire: $0) }
        }

        let path = RecordsLookup.path
        return (request, read, path)
    }

    /// Run by the tests as it stands.
    static func storage(_ folder: String) async throws -> [String] {
        let storage = try SQLiteStorageEngine(folder: folder)
        let trails = ContainerAddress(
            container: "iCloud.org.example.Trails", environment: .development)
        let store = try await storage.store(for: DatabaseAddress(trails, .public))

        let zone = try await store.write { try $0.createZone(named: "Trips", hasFeed: true) }

        let zones = try await store.read { try $0.zones() }
        try await storage.close()
        return zones.map(\.name).filter { $0 == zone.name }
    }

    /// Run by the tests as it stands.
    static func service(_ folder: String) async throws -> (String, Bool) {
        let storage = try SQLiteStorageEngine(folder: folder)
        let service = CloudService(
            storage: storage, settings: ServiceSettings(isForDevelopment: true))

        let alice = try await service.signInForDevelopment(user: "alice")

        let diagnosis = try await Doctor(storage: storage).examine()
        try await storage.close()
        return (alice.userRecordName, diagnosis.isHealthy)
    }

    static func client() async throws -> Int {
        let database = CKContainer(identifier: "iCloud.org.example.Trails").privateCloudDatabase
        let hut = CKRecord(recordType: "Hut")
        hut["beds"] = 24
        let saved = try await database.save(hut)
        let seen = try await database.record(for: saved.recordID)

        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > %d", 10))
        let (matches, cursor) = try await database.records(matching: query)

        let subscription = CKDatabaseSubscription(subscriptionID: "everything")
        _ = try await database.save(subscription)
        return matches.count + (cursor == nil ? 0 : 1) + seen.allKeys().count
    }

    static func cloudKit(_ delegate: TrailStore) async throws -> CKAccountStatus {
        let container = CKContainer(identifier: "iCloud.org.example.Trails")
        let database = container.privateCloudDatabase
        let hut = CKRecord(recordType: "Hut")
        hut["name"] = "Gipfelblick"
        _ = try await database.save(hut)

        let status = try await container.accountStatus()

        let configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: delegate)
        let engine = CKSyncEngine(configuration)
        try await engine.fetchChanges()
        return status
    }

    static func syncEngine(
        _ delegate: TrailStore, _ saved: CKSyncEngine.State.Serialization?, _ hutID: CKRecord.ID
    ) async throws {
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(
                database: CKContainer.default().privateCloudDatabase, stateSerialization: saved,
                delegate: delegate))
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(hutID)])
        try await engine.sendChanges()
    }

    struct ServerWins: ConflictResolver {
        func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
    }

    /// Run by the tests as it stands.
    static func sync() -> SyncStep {
        var session = SyncSession()
        session.localChange(at: 0)
        let step = session.next(at: 1)
        return step
    }

    static func pace() -> SyncSession {
        let session = SyncSession(settings: SyncSettings())
        return session
    }

    static func cache(_ hutID: CKRecord.ID) async throws {
        let cache = try CloudCache(path: "trails.sqlite", container: .default())
        let hut = CKRecord(recordType: "Hut", recordID: hutID)
        hut["name"] = "Gipfelblick"
        try await cache.save(hut)

        await cache.start()
        for await recordIDs in cache.changes() {
            print("changed:", recordIDs.map(\.recordName))
        }

        for try await report in cache.reportStream() {
            if case .editOverruled(let mine, _, _) = report.event {
                print("overruled:", mine.recordID.recordName)
            }
            try await cache.acknowledge([report])
        }

        for await event in cache.events() {
            if case .halted(let reason) = event { print("sync stopped:", reason) }
        }
    }

    static func testing() async throws -> [CKContainer] {
        let cloud = TestCloud()
        let trails = "iCloud.org.example.Trails"
        let phone = try await cloud.container(trails, user: "alice", device: "phone")
        let tablet = try await cloud.container(trails, user: "alice", device: "tablet")

        cloud.faults.nextRequests(1, .answer(.throttled, retryAfterSeconds: 30))

        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        cloud.faults(on: "tablet").isCutOff = true
        return [phone, tablet]
    }

    static func seeded() async throws -> CloudConnection {
        let world = SeededWorld(seed: 7)
        let cloud = TestCloud(seeded: world)
        let clock = world.world("phone", skewMilliseconds: 3_600_000)
        let phone = try await cloud.connect(user: "alice", device: "phone", world: clock)
        return phone
    }

    static func time() -> TestCloud {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        clock.advance(bySeconds: 60)
        return cloud
    }
}

typealias Lake = CloudObject<LakeFields>
typealias Island = CloudObject<IslandFields>

struct IslandFields: CloudFields {
    static let cloudMap = CloudMap<Island>("Island").field(\.name, "name")
    var name = ""
}

struct LakeFields: CloudFields {
    static let cloudMap = CloudMap<Lake>("Lake")
        .field(\.name, "name").field(\.metres, "metres", default: 0)
        .references(\.islands, "islands")
    var name = ""
    var metres = 0
    var islands: [Island] = []
}

extension CatalogueSnippets {
    static func mapping(_ container: CKContainer, _ lake: Lake) async throws {
        let store = MemoryStore(Lake.self, Island.self)
        let mapping = try CloudMapping(
            database: container.privateCloudDatabase, types: [Lake.self, Island.self], store: store,
            file: nil)
        lake.edit { $0.name = "Long lake" }
        try await lake.iCloud.saveAndWait()
        try await mapping.syncEntities()
        print(try await mapping.plan(forced: true))
    }

    static func beyondTheDocument(_ mapping: CloudMapping, _ lake: Lake) async throws {
        withObservationTracking {
            print(lake.name)
        } onChange: {
            print("here or on another device, it has changed")
        }
        for await change in mapping.changes() where change.syncID == lake.syncID { break }
        lake.edit { $0.metres = 400 }
        lake.undo()
        lake.iCloud.save()
        print(try await mapping.plan(forced: true))
        print(mapping.diagram)
    }

    /// A row of a table, with a foreign key.
    struct Boat: CloudKeyed, Codable, FetchableRecord, PersistableRecord {
        static let cloudMap = CloudMap<Boat>("Boat")
            .field(\.name, "name").reference(\.lakeID, to: Lake.self, "lake")
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var name = ""
        var lakeID: String?
    }
}
