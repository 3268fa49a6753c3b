import StratusClient
import StratusSyncEngine

/// The file is one user's: what another one has is not written into it, and nothing of it is sent to them.
extension EngineStore {
    var isHalted: Bool { state.withLock { $0.halt != nil } }

    /// The engine has begun anew with another user, or with none, and knows nothing that was pending.
    func accountChanged(
        _ change: CKSyncEngine.Event.AccountChange.ChangeType, _ engine: CKSyncEngine
    ) throws {
        switch change {
        case .signIn(let current): try signedIn(current, engine)
        // A file of which nobody said whose it is was theirs.
        case .signOut(let previous): _ = try store.claim(for: previous.recordName)
        case .switchAccounts(let previous, let current):
            _ = try store.claim(for: previous.recordName)
            try signedIn(current, engine)
        }
    }

    private func signedIn(_ user: CKRecord.ID, _ engine: CKSyncEngine) throws {
        state.withLock { $0.userRecordName = user.recordName }
        try resume(engine)
    }

    /// Looks whose the file is; nothing is synced with anybody else.
    func claim() throws {
        guard let user = state.withLock({ $0.userRecordName }) else { return }
        let isTheirs = try store.claim(for: user)
        let halt =
            try isTheirs
            ? nil
            : CacheError(
                .halted,
                "The file belongs to another user than the one who is signed in. Open another file.",
                haltReason: store.isMadeByNobody() ? .unclaimedRecords : .otherAccount)
        state.withLock { $0.halt = halt }
    }

    /// Takes back what the engine was to do before it looked who is signed in.
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
