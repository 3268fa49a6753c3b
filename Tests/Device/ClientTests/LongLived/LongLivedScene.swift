import Foundation
import StratusClient
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// A device and a cloud that keep their data in a folder, so that both outlive their process.
struct LongLivedScene: Sendable {
    let cloud: TestCloud
    let container: CKContainer
    let transport: TappedTransport
    let folder: URL

    init(
        _ path: String, _ cloud: TestCloud? = nil, user: String = "ida", device: String = "phone",
        world: CloudConnection.World = .init()
    ) async throws {
        folder = URL(fileURLWithPath: path)
        self.cloud =
            try cloud ?? TestCloud(storage: SQLiteStorageEngine(folder: path + "/service"))
        transport = TappedTransport(
            try await self.cloud.connect(user: user, device: device).transport)
        container = CKContainer(
            identifier: "iCloud.org.example.Trails",
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: device, world: world,
                keyStore: MemoryKeyStore(),
                operationFolder: folder.appendingPathComponent("operations")))
    }

    var database: CKDatabase { container.privateCloudDatabase }
    var photo: URL { folder.appendingPathComponent("photo") }

    /// Creates the zone and the records that the operations use.
    func prepare() async throws {
        try await database.save(CKRecordZone(zoneID: trips))
        try Data(content(3_000)).write(to: photo)
        let seen = hut("seen")
        seen["photo"] = CKAsset(fileURL: photo)
        let old = hut("old")
        _ = try await database.modifyRecords(
            saving: [seen, old], deleting: [], savePolicy: .allKeys)
        _ = try await database.deleteRecord(withID: old.recordID)
    }

    /// Runs an operation in a process that one of its blocks kills.
    ///
    /// - Parameter prepare: Sets that block.
    static func runUntilKilled(
        _ kind: LongLivedKind, in path: String, device: String = "phone",
        _ prepare: (LongLivedScene, CKOperation) -> Void
    ) async throws {
        let scene = try await LongLivedScene(path, device: device)
        let operation = try await scene.prepared(kind)
        prepare(scene, operation)
        scene.container.add(operation)
        try await Task.sleep(for: .seconds(60))
    }

    /// The operation that an earlier process left.
    func resumed() async throws -> CKOperation {
        let id = try #require(try await container.allLongLivedOperationIDs().first)
        return try #require(try await container.longLivedOperation(for: id))
    }

    /// An operation that outlives its process, with the zone and the records that it uses.
    func prepared(_ kind: LongLivedKind) async throws -> CKOperation {
        try await prepare()
        let operation = operation(kind)
        operation.configuration.isLongLived = true
        return operation
    }

    func operation(_ kind: LongLivedKind) -> CKDatabaseOperation {
        let operation = kind.operation(photo: photo)
        operation.database = database
        return operation
    }

    /// The folders of the stored operations.
    var journals: [URL] {
        let root = folder.appendingPathComponent("operations")
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String }
        return (names ?? []).filter { $0.hasSuffix("/description") }
            .map { root.appendingPathComponent($0).deletingLastPathComponent() }
    }

    /// Waits until no stored operation is left. No callback reports this, as it happens after the completion block.
    func waitUntilForgotten() async {
        for _ in 0..<100_000 {
            if journals.isEmpty { return }
            await Task.yield()
        }
        #expect(journals.isEmpty)
    }
}

/// The operations that can be long-lived.
enum LongLivedKind: String, CaseIterable, Codable, Sendable {
    case modifyRecords
    case fetchRecords
    case query
    case zoneChanges
    case databaseChanges
    case modifyZones
    case fetchZones
    case modifySubscriptions
    case fetchSubscriptions

    /// The path of the request that does the work.
    var path: String {
        switch self {
        case .modifyRecords: RecordsModify.path
        case .fetchRecords: RecordsLookup.path
        case .query: RecordsQuery.path
        case .zoneChanges: ChangesZone.path
        case .databaseChanges: ChangesDatabase.path
        case .modifyZones: ZonesModify.path
        case .fetchZones: ZonesLookup.path
        case .modifySubscriptions: SubscriptionsModify.path
        case .fetchSubscriptions: SubscriptionsList.path
        }
    }

    func operation(photo: URL) -> CKDatabaseOperation {
        switch self {
        case .modifyRecords:
            let record = hut("new")
            record["photo"] = CKAsset(fileURL: photo)
            record["beds"] = 4
            return CKModifyRecordsOperation(
                recordsToSave: [record], recordIDsToDelete: [hut("old").recordID])
        case .fetchRecords:
            return CKFetchRecordsOperation(
                recordIDs: [hut("seen").recordID, hut("none").recordID])
        case .query:
            let operation = CKQueryOperation(
                query: CKQuery(recordType: "Hut", predicate: NSPredicate(value: true)))
            operation.zoneID = trips
            return operation
        case .zoneChanges:
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [trips, CKRecordZone.ID(zoneName: "Nowhere")],
                configurationsByRecordZoneID: [trips: .init(resultsLimit: 1)])
            return operation
        case .databaseChanges:
            return CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        case .modifyZones:
            return CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneName: "More")],
                recordZoneIDsToDelete: [trips])
        case .fetchZones: return CKFetchRecordZonesOperation(recordZoneIDs: [trips])
        case .modifySubscriptions:
            return CKModifySubscriptionsOperation(
                subscriptionsToSave: [CKRecordZoneSubscription(zoneID: trips, subscriptionID: "z")],
                subscriptionIDsToDelete: [])
        case .fetchSubscriptions:
            return CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        }
    }

    /// The reports of the blocks, whichever process finishes the operation.
    var reported: [String] {
        switch self {
        case .modifyRecords: ["save new 4 true", "delete old", "result"]
        case .fetchRecords: ["record seen", "record none 11", "result"]
        case .query: ["record seen", "result false"]
        case .zoneChanges:
            [
                "record seen", "token", "deleted old Hut", "zone Trips false", "zone Nowhere 26",
                "result",
            ]
        case .databaseChanges: ["zone Trips", "result false"]
        case .modifyZones: ["save More", "delete Trips", "result"]
        case .fetchZones: ["zone Trips", "result"]
        case .modifySubscriptions: ["save z", "result"]
        case .fetchSubscriptions: ["result"]
        }
    }

    func listen(_ operation: CKOperation, _ log: Log) {
        switch operation {
        case let operation as CKModifyRecordsOperation:
            operation.perRecordSaveBlock = { recordID, result in
                let record = try? result.get()
                log.add(
                    "save \(recordID.recordName) \(record?["beds"] as? Int ?? 0) "
                        + "\(record?.recordChangeTag != nil)")
            }
            operation.perRecordDeleteBlock = log.items("delete")
            operation.modifyRecordsResultBlock = log.end()
        case let operation as CKFetchRecordsOperation:
            operation.perRecordResultBlock = log.items("record")
            operation.fetchRecordsResultBlock = log.end()
        case let operation as CKQueryOperation:
            operation.recordMatchedBlock = log.items("record")
            operation.queryResultBlock = { log.add("result \((try? $0.get()) != nil)") }
        case let operation as CKFetchRecordZoneChangesOperation: listen(operation, log)
        case let operation as CKFetchDatabaseChangesOperation:
            operation.recordZoneWithIDChangedBlock = { log.add("zone \($0.zoneName)") }
            operation.fetchDatabaseChangesResultBlock = {
                log.add("result \((try? $0.get())?.moreComing ?? true)")
            }
        default: listenToZones(operation, log)
        }
    }

    private func listen(_ operation: CKFetchRecordZoneChangesOperation, _ log: Log) {
        operation.recordWasChangedBlock = log.items("record")
        operation.recordWithIDWasDeletedBlock = { log.add("deleted \($0.recordName) \($1)") }
        operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in
            if token != nil { log.add("token") }
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            let more = (try? result.get()).map { " \($0.moreComing)" } ?? ""
            log.add("zone \(zoneID.zoneName)\(more)\(LongLivedKind.suffix(result))")
        }
        operation.fetchRecordZoneChangesResultBlock = log.end()
    }

    private func listenToZones(_ operation: CKOperation, _ log: Log) {
        switch operation {
        case let operation as CKModifyRecordZonesOperation:
            operation.perRecordZoneSaveBlock = log.items("save")
            operation.perRecordZoneDeleteBlock = log.items("delete")
            operation.modifyRecordZonesResultBlock = log.end()
        case let operation as CKFetchRecordZonesOperation:
            operation.perRecordZoneResultBlock = log.items("zone")
            operation.fetchRecordZonesResultBlock = log.end()
        case let operation as CKModifySubscriptionsOperation:
            operation.perSubscriptionSaveBlock = log.items("save")
            operation.modifySubscriptionsResultBlock = log.end()
        case let operation as CKFetchSubscriptionsOperation:
            operation.perSubscriptionResultBlock = { id, _ in log.add("subscription \(id)") }
            operation.fetchSubscriptionsResultBlock = log.end()
        default: log.add("unknown")
        }
    }

    fileprivate static func suffix<Value>(_ result: Result<Value, any Error>) -> String {
        guard case .failure(let error) = result else { return "" }
        return " \((error as? CKError)?.code.rawValue ?? 0)"
    }

    /// Checks the service's record after the operation.
    func check(_ scene: LongLivedScene) async throws {
        guard self == .modifyRecords else { return }
        let record = try await scene.database.record(for: hut("new").recordID)
        let url = (record["photo"] as? CKAsset)?.fileURL
        guard record["beds"] as? Int == 4, let url,
            try [UInt8](Data(contentsOf: url)) == content(3_000)
        else { throw CKError(.internalError) }
    }
}

/// A value that reports show by its name.
private protocol Named: SendableMetatype { var reportedName: String { get } }
extension CKRecord.ID: Named { fileprivate var reportedName: String { recordName } }
extension CKRecordZone.ID: Named { fileprivate var reportedName: String { zoneName } }
extension String: Named { fileprivate var reportedName: String { self } }

extension Log {
    /// A block that logs an item's outcome.
    fileprivate func items<ID: Named, Value>(
        _ word: String
    ) -> @Sendable (ID, Result<Value, any Error>) -> Void {
        { id, result in self.add("\(word) \(id.reportedName)\(LongLivedKind.suffix(result))") }
    }

    /// A block that logs how an operation ended.
    fileprivate func end<Value>() -> @Sendable (Result<Value, any Error>) -> Void {
        { self.add("result\(LongLivedKind.suffix($0))") }
    }
}
