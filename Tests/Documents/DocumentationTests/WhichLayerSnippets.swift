// The same app on three layers, as Documentation/WhichLayer.md shows it; WhichLayerTests run all three.
import CloudKit
import Foundation
import StratusCache

/// A list of huts by operations alone: the app keeps the token, and has nothing to show without a network.
actor HutsByOperations {
    private let database: CKDatabase
    private let zone = CKRecordZone(zoneName: "Trips")
    private var token: CKServerChangeToken?
    private var records: [CKRecord.ID: CKRecord] = [:]

    init(_ container: CKContainer) { database = container.privateCloudDatabase }

    var names: [String] { records.values.compactMap { $0["name"] }.sorted() }

    func rename(_ id: CKRecord.ID, _ name: String) async throws {
        _ = try await database.save(zone)
        let record = records[id] ?? CKRecord(recordType: "Hut", recordID: id)
        record["name"] = name
        do {
            records[id] = try await database.save(record)
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord else { throw error }
            server["name"] = name  // the last one to save wins
            records[id] = try await database.save(server)
        }
    }

    func sync() async throws {
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
            for (id, result) in page.modificationResultsByID {
                records[id] = try result.get().record
            }
            for deletion in page.deletions { records[deletion.recordID] = nil }
            token = page.changeToken
            if !page.moreComing { return }
        }
    }
}

/// By an engine: it decides when to sync; the app keeps the records, the edits and the engine's state.
actor HutsByEngine: CKSyncEngineDelegate {
    private var engine: CKSyncEngine?
    private var store: EngineStore?
    private let zone = CKRecordZone(zoneName: "Trips")

    func open(_ container: CKContainer, _ cache: CloudCache) throws {
        let store = try EngineStore(cache)  // a CloudCache as the store: one adapter
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(
                database: container.privateCloudDatabase,
                stateSerialization: try store.stateSerialization(), delegate: self))
        try store.resume(engine)
        (self.store, self.engine) = (store, engine)
    }

    func names() throws -> [String] {
        try store?.cache.records(ofType: "Hut", inZoneWith: zone.zoneID)
            .compactMap { $0["name"] }.sorted() ?? []
    }

    func rename(_ id: CKRecord.ID, _ name: String) throws {
        guard let store, let engine else { return }
        let record = try store.cache.record(for: id) ?? CKRecord(recordType: "Hut", recordID: id)
        record["name"] = name
        try store.save([record], engine)
    }

    func sync() async throws {
        try await engine?.fetchChanges()
        try await engine?.sendChanges()
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        await store?.handleEvent(event, syncEngine: syncEngine)
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await store?.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
    }
}

/// By the cache: it keeps and syncs everything.
struct HutsByCache {
    let cache: CloudCache
    private let zone = CKRecordZone.ID(zoneName: "Trips")

    init(_ container: CKContainer, path: String) throws {
        cache = try CloudCache(path: path, container: container)
    }

    func names() throws -> [String] {
        try cache.records(ofType: "Hut", inZoneWith: zone).compactMap { $0["name"] }.sorted()
    }

    func rename(_ id: CKRecord.ID, _ name: String) throws {
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Hut", recordID: id)
        record["name"] = name
        try cache.save(record)
    }

    func sync() async throws { try await cache.sync() }  // or start(), once
}
