import StratusClient
import StratusSyncEngine

/// Keeps the file to one user: data of another user is not written into it, and nothing in it is sent to them.
extension EngineStore {
    var isHalted: Bool { state.withLock { $0.halt != nil } }

    /// Handles a change of the account: the engine has started again with another user, or with none, and its pending
    /// changes are gone.
    func accountChanged(
        _ change: CKSyncEngine.Event.AccountChange.ChangeType, _ engine: CKSyncEngine
    ) throws {
        switch change {
        case .signIn(let current): try signedIn(current, engine)
        // A file that has records but no user belonged to them; a file that they signed out of is empty.
        case .signOut(let previous): try store.claim(forFormer: previous.recordName)
        case .switchAccounts(let previous, let current):
            try store.claim(forFormer: previous.recordName)
            try signedIn(current, engine)
        }
    }

    private func signedIn(_ user: CKRecord.ID, _ engine: CKSyncEngine) throws {
        state.withLock { $0.userRecordName = user.recordName }
        try resume(engine)
    }

    /// Checks that the file belongs to the user who is signed in; nothing is synced with another user.
    func claim() throws {
        guard let user = state.withLock({ $0.userRecordName }) else { return }
        let isTheirs = try store.claim(for: user)
        let halt =
            try isTheirs
            ? nil
            : CacheError(
                .halted,
                "The cache's file \(store.file.path) belongs to a user other than the one who is"
                    + " signed in. Open another file.",
                haltReason: store.isMadeByNobody() ? .unclaimedRecords : .otherAccount)
        state.withLock { $0.halt = halt }
    }

    /// Removes the changes that the engine had pending before it checked who is signed in.
    func withdraw(from engine: CKSyncEngine) throws {
        let backlog = try store.backlog()
        engine.state.remove(
            pendingDatabaseChanges: backlog.zonesToDelete.map { .deleteZone(CKRecordZone.ID($0)) }
                + backlog.zonesToCreate.map {
                    .saveZone(CKRecordZone(zoneID: CKRecordZone.ID($0)))
                })
        let ids = try store.pendingIDs(limit: .max).map { CKRecord.ID($0) }
        engine.state.remove(
            pendingRecordZoneChanges: ids.flatMap { [.saveRecord($0), .deleteRecord($0)] })
    }
}
