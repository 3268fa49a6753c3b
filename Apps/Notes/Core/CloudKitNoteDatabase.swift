import CloudKit

/// The note's requests to the private database: one function with one operation for each request.
///
/// It has no state; ``CloudKitNote`` stores what must be remembered.
public struct CloudKitNoteDatabase: Sendable {
    public static let recordType = "note"
    public static let subscriptionID = "note-changes"

    public let container: CKContainer
    public let zoneID = CKRecordZone(zoneName: "note-zone").zoneID

    private var database: CKDatabase { container.privateCloudDatabase }

    public init(container: CKContainer) {
        self.container = container
    }

    // MARK: The zone

    /// Creates the zone, which must be a custom zone: only those report what changed in them.
    private func createZone() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
            var zone: Result<Void, any Error> = .success(())
            operation.perRecordZoneSaveBlock = { _, result in zone = result.map { _ in } }
            operation.modifyRecordZonesResultBlock = { result in
                continuation.resume(with: result.flatMap { zone })
            }
            run(operation)
        }
    }

    // MARK: The subscription

    /// Subscribes to every change of the note with silent pushes, which need no permission.
    ///
    /// No person waits for it, so it has the lower quality of service, which is retried
    /// automatically.
    public func saveSubscription() async throws {
        let subscription = CKQuerySubscription(
            recordType: Self.recordType, predicate: NSPredicate(value: true),
            subscriptionID: Self.subscriptionID,
            options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnRecordUpdate])
        let information = CKSubscription.NotificationInfo()
        information.shouldSendContentAvailable = true
        subscription.notificationInfo = information
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription])
            var saved: Result<Void, any Error> = .success(())
            operation.perSubscriptionSaveBlock = { _, result in saved = result.map { _ in } }
            operation.modifySubscriptionsResultBlock = { result in
                continuation.resume(with: result.flatMap { saved })
            }
            run(operation, .utility)
        }
    }

    // MARK: Records

    public func loadRecord(name: String) async throws -> CKRecord {
        let recordID = CKRecord.ID(recordName: name, zoneID: zoneID)
        return try await withCheckedThrowingContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: [recordID])
            // If the service says nothing about the requested record, it does not have it.
            var record: Result<CKRecord, any Error> = .failure(CKError(.unknownItem))
            operation.perRecordResultBlock = { _, result in record = result }
            operation.fetchRecordsResultBlock = { result in
                continuation.resume(with: result.flatMap { record })
            }
            run(operation)
        }
    }

    /// Saves a record unless it was changed meanwhile; creates the zone if it is missing.
    ///
    /// - Throws: `CKError`, with both records of a conflict.
    public func saveRecord(_ record: CKRecord) async throws -> CKRecord {
        do {
            return try await modify(saving: record)
        } catch let error as CKError where error.isRecordNotFound() {
            // This is the first save, or the zone was removed in the settings, or only the record was.
            if error.isZoneNotFound() { try await createZone() }
            return try await modify(saving: Self.newRecord(like: record))
        }
    }

    private func modify(saving record: CKRecord) async throws -> CKRecord {
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            var saved: Result<CKRecord, any Error> = .failure(CloudKitNoteError.unexpected)
            operation.savePolicy = .ifServerRecordUnchanged
            operation.perRecordSaveBlock = { _, result in saved = result }
            operation.modifyRecordsResultBlock = { result in
                continuation.resume(with: result.flatMap { saved })
            }
            run(operation)
        }
    }

    /// The same content as a record that the service does not have yet.
    private static func newRecord(like record: CKRecord) -> CKRecord {
        let new = CKRecord(recordType: record.recordType, recordID: record.recordID)
        for key in record.allKeys() { new[key] = record[key] }
        return new
    }

    // MARK: Changes

    /// The changes in the zone after a token.
    public struct Changes: Sendable {
        public var records: [CKRecord] = []
        public var deletedRecordIDs: [CKRecord.ID] = []
        /// Covers all of the above: store it together with them, never earlier.
        public var token: CKServerChangeToken?
    }

    /// - Parameter token: nil fetches from the beginning.
    public func fetchChanges(since token: CKServerChangeToken?) async throws -> Changes {
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [zoneID],
                configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: token)])
            var changes = Changes()
            var failure: (any Error)?
            operation.fetchAllChanges = true
            operation.recordWasChangedBlock = { _, result in
                switch result {
                case .success(let record): changes.records.append(record)
                case .failure(let error): failure = error
                }
            }
            operation.recordWithIDWasDeletedBlock = { recordID, _ in
                changes.deletedRecordIDs.append(recordID)
            }
            operation.recordZoneFetchResultBlock = { _, result in
                switch result {
                case .success(let end): changes.token = end.serverChangeToken
                case .failure(let error): failure = error
                }
            }
            operation.fetchRecordZoneChangesResultBlock = { result in
                continuation.resume(
                    with: result.flatMap { failure.map { .failure($0) } ?? .success(changes) })
            }
            run(operation)
        }
    }

    /// A person waits for most requests: those operations fail immediately, and the app shows the error
    /// and tries again.
    private func run(
        _ operation: CKDatabaseOperation, _ quality: QualityOfService = .userInitiated
    ) {
        operation.qualityOfService = quality
        database.add(operation)
    }
}
