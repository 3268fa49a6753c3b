// The Swift of README.md and the guides, so that it is compiled. SnippetTests checks that every snippet
// is here word for word; what a snippet leaves out (functions around it) is added here.
import CloudKit
import Foundation
import StratusCache
import StratusTesting
import StratusWire

enum Snippets {
    static func assets(_ cache: CloudCache, _ photo: CKRecord, _ picture: URL) async throws {
        photo["image"] = CKAsset(fileURL: picture)
        try await cache.save(photo)
        try await cache.sync()

        let image = try await cache.asset("image", of: photo.recordID)
        print(try Data(contentsOf: image.fileURL).count)

        var assets = AssetSettings()
        assets.limitBytes = 200_000_000
        assets.setPolicy(.always, forField: "thumbnail", ofType: "Photo")
        assets.setPolicy(.under(bytes: 500_000), forField: "image", ofType: "Photo")

        let unsent = try await cache.signOut(.sendThenRemove)
        print(unsent.count, "changes are on this device alone")
    }

    static func runsOnBoth() async throws {
        let database = CKContainer(identifier: "iCloud.org.example.Trails").privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Trips")
        _ = try await database.save(zone)

        let hutID = CKRecord.ID(recordName: "hut-3", zoneID: zone.zoneID)
        let hut: CKRecord
        do {
            hut = try await database.record(for: hutID)
        } catch CKError.unknownItem {
            hut = CKRecord(recordType: "Hut", recordID: hutID)
        }
        hut["name"] = "Gipfelblick"
        hut["beds"] = 24
        _ = try await database.save(hut)

        let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        print(changes.modificationResultsByID.count, "records; go on from", changes.changeToken)
    }

    static func worksOffline() async throws {
        let zone = CKRecordZone.ID(zoneName: "Trips")
        let cache = try CloudCache(path: "trails.sqlite", container: .default())
        let hutID = CKRecord.ID(recordName: "hut-3", zoneID: zone)
        let hut = CKRecord(recordType: "Hut", recordID: hutID)
        hut["name"] = "Gipfelblick"
        try await cache.save(hut)  // the row and its pending change in one transaction
        try await cache.sync()  // or start(), which syncs automatically
    }

    /// Run by the tests as it stands.
    static func insideATest() async throws -> (saved: CKRecord, seen: CKRecord) {
        let cloud = TestCloud()
        let trails = "iCloud.org.example.Trails"
        let phone = try await cloud.container(trails, user: "alice", device: "phone")
        let tablet = try await cloud.container(trails, user: "alice", device: "tablet")
        let saved = try await phone.privateCloudDatabase.save(CKRecord(recordType: "Hut"))
        let seen = try await tablet.privateCloudDatabase.record(for: saved.recordID)
        return (saved, seen)
    }

    static func engine(
        of store: TrailStore, _ device: String, in cloud: TestCloud
    ) async throws -> CKSyncEngine {
        let trails = "iCloud.org.example.Trails"
        let container = try await cloud.container(trails, user: "alice", device: device)
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase, stateSerialization: nil, delegate: store)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    /// Run by the tests as it stands.
    static func enginesByHand() async throws -> [String?] {
        let cloud = TestCloud()
        let zone = CKRecordZone(zoneName: "Trips")
        let hut = CKRecord.ID(recordName: "hut-3", zoneID: zone.zoneID)
        let (phone, tablet) = (TrailStore(), TrailStore())
        let phoneEngine = try await engine(of: phone, "phone", in: cloud)
        let tabletEngine = try await engine(of: tablet, "tablet", in: cloud)

        phoneEngine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        await phone.rename(hut, "Gipfelblick", phoneEngine)
        try await phoneEngine.sendChanges()
        await tablet.rename(hut, "Alpenrose", tabletEngine)
        do {
            try await tabletEngine.sendChanges()
        } catch CKError.partialFailure {
            try await tabletEngine.sendChanges()  // what the store merged after the conflict
        }
        try await phoneEngine.fetchChanges()
        return [await phone.names[hut], await tablet.names[hut]]
    }

    /// Run by the tests as it stands.
    static func anEngineByTheClock() async throws -> (first: CKRecord.ID?, hut: CKRecord.ID) {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let connection = try await cloud.connect(user: "alice", device: "phone", world: clock.world)
        let container = CKContainer(identifier: "iCloud.org.example.Trails", connection: connection)
        let store = TrailStore()
        let engine = CKSyncEngine(
            .init(
                database: container.privateCloudDatabase, stateSerialization: nil, delegate: store))
        let zone = CKRecordZone(zoneName: "Trips")
        let hut = CKRecord.ID(recordName: "hut-3", zoneID: zone.zoneID)
        cloud.faults.next(of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 30))
        engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        await store.rename(hut, "Gipfelblick", engine)

        await clock.waitForSleeper(seconds: 0.1)  // the engine waits a little for more changes
        clock.advance(bySeconds: 0.1)
        await clock.waitForSleeper(seconds: 30)  // the service asked it to come back later
        clock.advance(bySeconds: 30)
        var saved = store.saved.stream.makeAsyncIterator()
        let first = await saved.next()
        withExtendedLifetime(engine) {}
        return (first, hut)
    }
}

/// An app's store: names of huts, the records as the service knows them, and the engine's state.
actor TrailStore: CKSyncEngineDelegate {
    private(set) var names: [CKRecord.ID: String] = [:]
    private(set) var engineState: CKSyncEngine.State.Serialization?
    private var records: [CKRecord.ID: CKRecord] = [:]
    nonisolated let saved = AsyncStream.makeStream(of: CKRecord.ID.self)

    func rename(_ id: CKRecord.ID, _ name: String, _ engine: CKSyncEngine) {
        names[id] = name
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
        switch event {
        case .stateUpdate(let update): engineState = update.stateSerialization
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { keep(change.record) }
            for deletion in changes.deletions { forget(deletion.recordID) }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords {
                records[record.recordID] = record
                saved.continuation.yield(record.recordID)
            }
            for conflict in sent.failedRecordSaves.flatMap(\.error.conflicts) {
                keep(conflict.merged())
                syncEngine.state.add(
                    pendingRecordZoneChanges: [.saveRecord(conflict.client.recordID)])
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges
            .filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            await self.record(id)
        }
    }

    private func record(_ id: CKRecord.ID) -> CKRecord? {
        guard let name = names[id] else { return nil }
        let record = records[id] ?? CKRecord(recordType: "Hut", recordID: id)
        record["name"] = name
        return record
    }

    private func keep(_ record: CKRecord) {
        records[record.recordID] = record
        names[record.recordID] = record["name"]
    }

    private func forget(_ id: CKRecord.ID) {
        records[id] = nil
        names[id] = nil
    }
}
