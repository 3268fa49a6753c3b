import Foundation

extension CKContainer {
    /// The user's long-lived operations in this container that have not ended or whose end was not
    /// reported to the app: those that are running and those that an earlier process left.
    ///
    /// Call it when the app starts, and continue each operation. Outcomes are kept for 24 hours;
    /// see `CKOperation.Configuration.isLongLived`. Source: Apple's page
    /// "allLongLivedOperationIDs()".
    ///
    /// - Throws: `CKError` when the service does not name the user who is signed in, or the folder of
    ///   stored operations cannot be read.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try connection.operationFolder.operationIDs(of: try await operationAccount())
    }

    /// Returns a long-lived operation that an earlier process began, with its arguments; set its
    /// blocks and add it to this container.
    ///
    /// If it had ended, its blocks are called with the stored outcome and nothing is sent;
    /// otherwise it is sent again with the same identifier, so that the service applies it once.
    ///
    /// - Returns: nil for an operation that was reported or cancelled, and while it is running in a
    ///   process.
    /// - Throws: `CKError` when the service does not name the user who is signed in.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        let account = try await operationAccount()
        let folder = connection.operationFolder
        guard let description = folder.description(of: operationID, account) else { return nil }
        let url = folder.url(of: operationID, account)
        // The lock is free when no process runs the operation; this one is released at once.
        guard OperationJournal.opened(url) != nil else { return nil }
        do {
            let operation = try restored(operationID, description.reader)
            operation.origin = OperationOrigin(author: description.author, folder: url)
            return operation
        } catch {
            // Files that are damaged or of another version cannot be continued.
            OperationFolder.warn(
                "The stored long-lived operation cannot be read; remove it.", url, error)
            return nil
        }
    }

    private func operationAccount() async throws -> OperationAccount {
        try await core.operationAccount(scope: nil, pace: defaults.pace(connection.world))
    }

    private static let longLivedTypes: [CKDatabaseOperation.Type] = [
        CKFetchDatabaseChangesOperation.self, CKFetchRecordZoneChangesOperation.self,
        CKFetchRecordZonesOperation.self, CKFetchRecordsOperation.self,
        CKFetchSubscriptionsOperation.self, CKModifyRecordZonesOperation.self,
        CKModifyRecordsOperation.self, CKModifySubscriptionsOperation.self, CKQueryOperation.self,
    ]

    private func restored(
        _ operationID: CKOperation.ID, _ reader: JournalReader
    ) throws -> CKOperation {
        let coder = reader.coder
        guard let name = coder.archivedString("class"),
            let type = Self.longLivedTypes.first(where: { "\($0)" == name }),
            let scope = CKDatabase.Scope(rawValue: Int(coder.decodeInt64(forKey: "scope")))
        else { throw OperationJournal.Damaged() }
        let operation = type.init(operationID: operationID)
        guard let kept = operation as? any LongLivedOperation else {
            throw OperationJournal.Damaged()
        }
        operation.configuration = CKOperationConfiguration(.init(coder: coder))
        operation.group = coder.archivedObject(CKOperationGroup.self, "group")
        operation.database = database(with: scope)
        try kept.readArguments(from: reader, assetFolder: connection.assetFolder)
        return operation
    }
}
