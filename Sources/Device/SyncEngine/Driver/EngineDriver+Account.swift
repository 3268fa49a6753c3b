import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// The user to whom the state belongs.
extension EngineDriver {
    /// Finds out who is signed in, and reports a change to the delegate.
    ///
    /// - Returns: false when no user is signed in; the engine waits.
    /// - Throws: `CKError` when the service does not answer; then nothing may be synced.
    func checkAccount(_ engine: CKSyncEngine) async throws -> Bool {
        let current = try await currentUser()
        guard state.ledger.userRecordName != current else { return current != nil }
        guard let change = state.update({ $0.account(is: current) }) else {
            return current != nil
        }
        session = restartedSession(change)
        func user(_ name: String) -> CKRecord.ID { CKRecord.ID(known: name) }
        let type: CKSyncEngine.Event.AccountChange.ChangeType =
            switch change {
            case .signIn(let name): .signIn(currentUser: user(name))
            case .signOut(let name): .signOut(previousUser: user(name))
            case .switchAccounts(let from, let to):
                .switchAccounts(previousUser: user(from), currentUser: user(to))
            }
        await deliver(.accountChange(.init(changeType: type)), engine)
        await deliverState(engine)
        return current != nil
    }

    private func currentUser() async throws -> String? {
        guard !isAccountKnown else { return state.ledger.userRecordName }
        let container = database.container
        let change = accountChangeCount
        let name =
            container.connection.hasAccount
            ? try await cancellable { try await container.userRecordID().recordName } : nil
        guard accountChangeCount == change else { throw Self.accountUnknown }
        checkedAccountChange = change
        return name
    }

    var accountChangeCount: Int { database.container.connection.accountChangeCount }

    /// Whether the account was checked to be the state's; nothing is sent or applied before.
    var isAccountKnown: Bool { checkedAccountChange == accountChangeCount }

    private static let accountUnknown = CKError(
        .operationCancelled, "The account changed meanwhile; the next sync looks it up.")

    /// A new session without the state of the former user's database.
    private func restartedSession(_ change: EngineLedger.AccountChange) -> SyncSession {
        let ledger = state.ledger
        if case .signIn = change { return session }
        return SyncSession(
            settings: session.settings,
            backlog: SyncBacklog(hasPendingChanges: ledger.hasRecordChanges))
    }

    /// Finds the database subscription, and creates it if there is none.
    func saveSubscription() async {
        do {
            let wanted = configuredSubscriptionID
            let (name, isNew) = try await ask { database in
                try await Self.subscribe(to: database, as: wanted)
            }
            let isFirst = state.ledger.subscriptionID == nil
            state.update { $0.subscriptionID = name }
            if isNew || isFirst {
                session.subscriptionSaved(at: now)
            } else {
                session.subscriptionFound(at: now)
            }
        } catch {
            if isGivenUp(CKError(error)) {
                session.cancelled()
            } else {
                _ = session.failed(SyncFailure(CKError(error)), at: now)
            }
        }
    }

    private func checkAccountIsKnown() throws {
        guard isAccountKnown else { throw Self.accountUnknown }
    }

    private static func subscribe(
        to database: CKDatabase, as wanted: CKSubscription.ID?
    ) async throws -> (CKSubscription.ID, isNew: Bool) {
        let known = try await database.allSubscriptions()
            .filter { $0 is CKDatabaseSubscription }.map(\.subscriptionID)
        if let wanted, known.contains(wanted) { return (wanted, false) }
        if wanted == nil, let first = known.sorted().first { return (first, false) }
        let subscription = CKDatabaseSubscription(
            subscriptionID: wanted ?? "stratus-sync-engine-\(database.databaseScope.rawValue)")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        return (try await database.save(subscription).subscriptionID, true)
    }

    /// Makes a request that ``cancelOperations()`` can cancel, after the app's earlier changes of the state were
    /// reported to it.
    func ask<Answer: Sendable>(
        group: CKOperationGroup? = nil,
        _ body: @escaping @Sendable (CKDatabase) async throws -> Answer
    ) async throws -> Answer {
        await reportAppChange()
        // The account may have changed while the app was called.
        try checkAccountIsKnown()
        let database = database.configuredWith(group: group) { $0 }
        let answer: Result<Answer, any Error>
        do {
            answer = .success(try await cancellable { try await body(database) })
        } catch {
            // Thrown below, unless the account changed meanwhile.
            answer = .failure(error)
        }
        // An answer to a request of another account is dropped, also if it is an error.
        try checkAccountIsKnown()
        return try answer.get()
    }

    private func cancellable<Answer: Sendable>(
        _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try checkCancellation()
        requestedAccountChange = accountChangeCount
        let task = WorldTask("engine request", in: world, body)
        cancelRequest = { task.cancel() }
        defer { cancelRequest = nil }
        return try await answer(of: task).get()
    }
}

extension SyncSettings {
    /// Bytes of fields in one batch of an engine; CloudKit documents 2 MB per request.
    static let engineBytesPerBatch = 1_500_000

    /// The settings that Apple documents for its engine: batches of 250, no pause between
    /// successful operations, and unlimited retries.
    static var engine: SyncSettings {
        var settings = SyncSettings()
        settings.itemsPerBatch = CKSyncEngine.RecordZoneChangeBatch.maximumItemCount
        settings.bytesPerBatch = engineBytesPerBatch
        settings.operationsPerSecond = .infinity
        settings.firstRetryDelaySeconds = 1
        settings.coalescingSeconds = 0.1
        settings.maximumRetries = .max
        settings.maximumItemAttempts = .max
        settings.fetchIntervalSeconds = 900
        settings.failurePolicy = .report
        return settings
    }
}
