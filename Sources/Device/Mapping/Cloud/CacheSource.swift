import Foundation
import Logging
import StratusCache
import StratusClient
import StratusRuntime

/// A zone of a cache, which works with or without a network.
struct CacheSource: RecordSource {
    let cache: CloudCache
    let zoneID: CKRecordZone.ID
    var tellsDeletions: Bool { true }
    var mayLackFiles: Bool { true }

    /// After a user has signed out of the cache's file, the file may belong to the next user.
    var learnsUserByExchange: Bool { true }

    func userRecordName() async throws -> String? { try await cache.userRecordName() }

    func isPrepared() async throws -> Bool { true }

    func prepare() async throws {}

    func records(named names: [String], withFiles: Bool) async throws -> NamedRecords {
        var found: [String: CKRecord] = [:]
        for name in names {
            found[name] = try await cache.record(for: CKRecord.ID(known: name, zoneID: zoneID))
        }
        if withFiles { await fetchFiles(of: Array(found.values)) }
        return NamedRecords(records: found)
    }

    /// Downloads the missing files of assets, if they are available now.
    private func fetchFiles(of records: [CKRecord]) async {
        for record in records {
            for key in record.allKeys() {
                let hasAsset = record[key] is CKAsset
                guard hasAsset else { continue }
                // After a failure, as without a network, the record has no file; the property stays
                // unchanged, and the file is requested again with a later change of the record.
                _ = try? await cache.asset(key, of: record.recordID)
            }
        }
    }

    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>] {
        let ids = names.map { CKRecord.ID(known: $0, zoneID: zoneID) }
        if !records.isEmpty || !ids.isEmpty { try await cache.save(records, deleting: ids) }
        var results: [String: Result<CKRecord?, any Error>] = [:]
        for record in records { results[record.recordID.recordName] = .success(record) }
        for name in names { results[name] = .success(nil) }
        return results
    }

    /// All records of the cache. A record that is missing among them was deleted, unless the cache hides it, or is new
    /// and has not fetched it yet.
    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges {
        // Read before the records, which may arrive meanwhile.
        let isComplete = try await cache.hasFetched(zone: zoneID)
        let (records, hiddenNames) = try await cache.recordsAndHiddenNames(inZoneWith: zoneID)
        await fetchFiles(of: records)
        return RemoteChanges(
            records: Dictionary(records.map { ($0.recordID.recordName, $0) }) { $1 },
            hiddenNames: hiddenNames, isComplete: isComplete)
    }

    func refuseIfHidden(_ name: String) async throws {
        try await cache.refuseIfHidden(CKRecord.ID(known: name, zoneID: zoneID))
    }

    func records(
        ofType type: String, where field: String, is value: String
    ) async throws -> [CKRecord] { [] }

    /// The cache's own loop subscribes.
    func subscribe(types: [String]) async throws {}

    func isAbout(_ notification: CKNotification) async -> (isOurs: Bool, type: String?) {
        (cache.isAbout(notification), nil)
    }

    func exchange() async throws { try await cache.sync() }
}

extension CloudMapping {
    /// Sets up the mapping of an app over its cache: everything works without a network, and a save
    /// is durable when it returns.
    ///
    /// The cache sends changes to the service, at the next sync or in its running loop, and
    /// resolves conflicts. Files of assets are uploaded when they changed, and downloaded with the
    /// sync that fetches their records or, if there is no network then, with a later change of
    /// these.
    ///
    /// - Parameters:
    ///   - cache: a cache that keeps the private database.
    ///   - file: see the other initializer; one for each file of a cache.
    ///   - types: all types that sync.
    ///   - store: where the objects are.
    ///   - zoneName: the zone in the private database.
    ///   - ignoring: objects to exclude from syncing, in both directions.
    ///   - logger: at the level debug it logs every step.
    ///   - world: the source of time and randomness; replaced in tests.
    /// - Throws: ``MappingError`` `invalidMaps` or `unwritable`.
    public convenience init(
        cache: CloudCache, types: [any CloudEntity.Type], store: any CloudStore, file: URL?,
        zoneName: String = "Objects",
        ignoring: @escaping @Sendable (any CloudEntity) -> Bool = { _ in false },
        logger: Logger = Logger(label: "stratus.mapping"), world: World = .live
    ) throws {
        try self.init(
            source: CacheSource(cache: cache, zoneID: CKRecordZone.ID(zoneName: zoneName)),
            types: types, store: store, file: file, deviceID: "cache", ignoring: ignoring,
            logger: logger, world: world)
    }
}
