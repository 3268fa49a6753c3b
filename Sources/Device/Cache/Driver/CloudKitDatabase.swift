import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// The framework's database as a `RemoteDatabase`: sends requests, returns plain values.
struct CloudKitDatabase: RemoteDatabase {
    let database: CKDatabase

    /// The silent subscription of every device of the user; saving it again changes nothing.
    var subscriptionID: CKSubscription.ID { "stratus-cache-\(database.databaseScope.rawValue)" }

    var scope: CKDatabase.Scope { database.databaseScope }

    func userRecordName() async throws -> String {
        try await translating { try await database.container.userRecordID().recordName }
    }

    var cloudDatabase: CKDatabase? { database }

    var hasAccount: Bool { database.container.connection.hasAccount }

    func accountChanges() -> AsyncStream<Void> {
        let (changes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Only passed back to the notification center, which has its own lock.
        nonisolated(unsafe) let observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: database.container.connection, queue: nil
        ) { _ in continuation.yield() }
        continuation.onTermination = { _ in NotificationCenter.default.removeObserver(observer) }
        return changes
    }

    var deviceID: String { database.container.connection.deviceID }

    func modifyZones(
        create: [ZoneID], delete: [ZoneID], generations: [ZoneID: Int64], operationID: String
    ) async throws -> ZoneOutcomes {
        try await changing {
            let (results, token) = try await database.modifyZones(
                saving: create.map { CKRecordZone(zoneID: CKRecordZone.ID($0)) },
                deleting: delete.map { CKRecordZone.ID($0) },
                generations: Dictionary(
                    uniqueKeysWithValues: generations.map { (CKRecordZone.ID($0.key), $0.value) }),
                operationID: operationID)
            var outcomes = ZoneOutcomes(databaseToken: token?.text)
            for (id, result) in results.saveResults {
                outcomes.created[ZoneID(id)] = .some(Self.failure(of: result))
            }
            for (id, result) in results.deleteResults {
                outcomes.deleted[ZoneID(id)] = .some(Self.failure(of: result))
            }
            return outcomes
        }
    }

    func saveSubscription(wasSaved: Bool) async throws -> Bool {
        try await translating {
            if wasSaved {
                do {
                    let found = try await database.subscription(for: subscriptionID)
                    if found is CKDatabaseSubscription { return false }
                } catch let error as CKError where error.code == .unknownItem {
                    // The zone was deleted.
                }
            }
            let subscription = CKDatabaseSubscription(subscriptionID: subscriptionID)
            let info = CKSubscription.NotificationInfo()
            info.shouldSendContentAvailable = true
            subscription.notificationInfo = info
            let results = try await database.modifySubscriptions(
                saving: [subscription], deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
            return true
        }
    }

    func cancel(_ operations: [UnansweredOperation]) async throws {
        guard !isAppleService else { return }
        let byDevice = Dictionary(grouping: operations, by: \.deviceID)
        try await translating {
            for (device, operations) in byDevice.sorted(by: { $0.key < $1.key }) {
                try await database.cancelOperations(
                    operations.map(\.id), of: device,
                    inZonesOf: Set(operations.flatMap(\.zoneOwners)).sorted())
            }
        }
    }

    func send(
        _ changes: [OutgoingChange], isAtomic: Bool, operationID: String
    ) async throws -> [OutgoingAnswer] {
        // A record that cannot be encoded fails alone, not its batch.
        var unwritable: [RecordID: SyncFailure] = [:]
        var records: [CKRecord] = []
        var deletions: [CKRecord.ID] = []
        // The change tag keeps a record that was created again or edited since from being deleted.
        var tags: [CKRecord.ID: String] = [:]
        var replaced: Set<CKRecord.ID> = []
        for item in changes {
            guard let client = item.client else {
                let id = CKRecord.ID(item.change.id)
                deletions.append(id)
                tags[id] = item.base?.system?.changeTag
                continue
            }
            do {
                let record = try client.record(changedSince: item.base)
                record.send(receipts: item.receipts)
                records.append(record)
                if item.isWhole { replaced.insert(record.recordID) }
            } catch {
                unwritable[item.change.id] = SyncFailure(error)
            }
        }
        let (saving, deleting, deletionTags, replacing) = (records, deletions, tags, replaced)
        let (results, tombstoneTags) = try await changing {
            try await database.withoutAssetDownloads.modifyRecords(
                saving: saving, deleting: deleting, deletionTags: deletionTags,
                replacing: replacing, savePolicy: .ifServerRecordUnchanged, atomically: isAtomic,
                operationID: operationID)
        }
        return try changes.map { item in
            if let failure = unwritable[item.change.id] { return .failed(failure, server: nil) }
            let id = CKRecord.ID(item.change.id)
            if item.client == nil {
                return try Self.answer(to: results.deleteResults[id], tombstoneTags[id])
            }
            return try Self.answer(to: results.saveResults[id])
        }
    }

    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        try await translating {
            let results = try await database.withoutAssetDownloads.records(
                for: ids.map { CKRecord.ID($0) })
            return try ids.map { id in
                switch results[CKRecord.ID(id)] {
                case nil: return .failure(Self.unanswered)
                case .success(let record): return .success(try RecordSnapshot(record))
                case .failure(let error):
                    let failure = SyncFailure(error)
                    let isGone = [.unknownItem, .zoneNotFound].contains(failure.code)
                    return isGone ? .success(nil) : .failure(failure)
                }
            }
        }
    }

    func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt {
        try await translating {
            try await database.uploadAsset(
                asset.url, sizeBytes: asset.sizeBytes, to: CKRecord.ID(asset.id),
                recordType: asset.recordType, fieldName: asset.field, progress: progress)
        }
    }

    func download(
        _ checksum: String, of id: RecordID, field: String, startingAt offset: Int64,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await translating {
            try await database.withoutAssetDownloads.downloadAsset(
                checksum, of: CKRecord.ID(id), fieldName: field, startingAt: offset,
                receive: receive)
        }
    }

    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage {
        try await databaseChanges(since: token, deletionsAfter: version, knowing: [])
    }

    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?, knowing known: [String]
    ) async throws -> DatabasePage {
        try await translating {
            let page = try await database.databaseChangesPage(
                since: token.map { CKServerChangeToken(text: $0) },
                deletionsAfterVersion: isAppleService ? nil : version,
                knownTokens: isAppleService ? [] : known.map { CKServerChangeToken(text: $0) })
            return DatabasePage(
                changed: page.changed.map { ZoneID($0) },
                deleted: page.deleted.map {
                    (zone: ZoneID($0.zoneID), reason: ZoneDeletionReason($0.reason))
                },
                generations: Dictionary(
                    uniqueKeysWithValues: page.generations.map { (ZoneID($0.key), $0.value) }),
                token: page.token.text, moreComing: page.moreComing)
        }
    }

    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage {
        try await zoneChanges(
            zone, since: token, deletionsAfter: nil, knowing: tags, limit: limit)
    }

    func zoneChanges(
        _ zone: ZoneID, since token: String?, deletionsAfter version: Int64?,
        knowing tags: [String], limit: Int?
    ) async throws -> ZonePage {
        try await translating {
            let page = try await database.withoutAssetDownloads.fetchedPage(
                ofZone: CKRecordZone.ID(zone), since: token.map { CKServerChangeToken(text: $0) },
                resultsLimit: limit, knownChangeTags: isAppleService ? [] : tags,
                deletionsAfterVersion: isAppleService ? nil : version)
            var zonePage = ZonePage(
                fetched: page.records, deletedNames: page.deletedNames, token: page.token,
                moreComing: page.moreComing)
            zonePage.createdMillisecondsOfDeleted = page.createdMillisecondsOfDeleted
            zonePage.unreadable = page.unreadable.mapValues { SyncFailure($0) }
            zonePage.remainingCount = page.remainingCount
            return zonePage
        }
    }

    var isAppleService: Bool {
        database.container.connection.isAppleService
    }

    func hints() -> AsyncStream<HintEvent> {
        guard let identifier = database.container.containerIdentifier else {
            return AsyncStream { $0.finish() }
        }
        let events = database.container.connection.notificationChannel(container: identifier)
        let (hints, continuation) = AsyncStream.makeStream(
            of: HintEvent.self, bufferingPolicy: .bufferingNewest(100))
        let world = database.container.connection.world
        let task = world.startTask("cache hints") {
            for await event in events {
                switch event {
                case .opened: continuation.yield(.opened)
                case .closed: continuation.yield(.closed)
                case .notification(let notification):
                    let hint = CKNotification(
                        fromRemoteNotificationDictionary: notification.userInfo
                    ).flatMap { self.hint(of: $0) }
                    if let hint { continuation.yield(.hint(hint)) }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return hints
    }
}

extension CloudKitDatabase {
    func hint(of notification: CKNotification) -> ChangeHint? {
        database.hint(of: notification)
    }

    /// Like ``translating(_:)``, for requests that change something: if it is unknown whether the change was made, the
    /// answer counts as lost.
    private func changing<Answer: Sendable>(
        _ body: () async throws -> Answer
    ) async throws -> Answer {
        try await translating {
            do {
                return try await body()
            } catch let error as CKError where error.leavesOutcomeUnknown {
                throw SyncFailure(
                    .serverResponseLost, retryAfterSeconds: error.retryAfterSeconds,
                    message: error.summary)
            }
        }
    }

    /// Translates the framework's errors. An answer that arrives after the account changed is
    /// discarded.
    private func translating<Answer: Sendable>(
        _ body: () async throws -> Answer
    ) async throws -> Answer {
        let connection = database.container.connection
        let accountChangeCount = connection.accountChangeCount
        do {
            let answer = try await body()
            guard connection.accountChangeCount == accountChangeCount else {
                throw SyncFailure(
                    .operationCancelled,
                    message:
                        "The account changed while the service answered, so the answer was dropped; the"
                        + " next sync asks again.")
            }
            return answer
        } catch let failure as SyncFailure {
            throw failure
        } catch let error as CancellationError {
            throw error
        } catch {
            throw SyncFailure(error)
        }
    }

    private static func failure<Value>(of result: Result<Value, any Error>) -> SyncFailure? {
        switch result {
        case .success: nil
        case .failure(let error): SyncFailure(error)
        }
    }

    private static let unanswered = SyncFailure(
        .internalError,
        message: "The service left this item out of its answer. Try again, or update the service.")

    private static func answer(
        to result: Result<Void, any Error>?, _ tombstoneTag: String?
    ) throws -> OutgoingAnswer {
        switch result {
        case nil: return .failed(unanswered, server: nil)
        case .success: return .deleted(tag: tombstoneTag)
        case .failure(let error): return try failed(error)
        }
    }

    private static func answer(
        to result: Result<CKRecord, any Error>?
    ) throws -> OutgoingAnswer {
        switch result {
        case nil: return .failed(unanswered, server: nil)
        case .success(let record):
            guard let system = try RecordSnapshot(record).system else {
                return .failed(unanswered, server: nil)
            }
            return .saved(system)
        case .failure(let error): return try failed(error)
        }
    }

    private static func failed(_ error: any Error) throws -> OutgoingAnswer {
        let server = try (error as? CKError)?.serverRecord.map { try RecordSnapshot($0) }
        return .failed(SyncFailure(error), server: server)
    }
}

extension ZoneDeletionReason {
    init(_ reason: CKDatabase.DatabaseChange.Deletion.Reason) {
        switch reason {
        case .deleted: self = .deleted
        case .purged: self = .purged
        case .encryptedDataReset: self = .encryptedDataReset
        }
    }
}
