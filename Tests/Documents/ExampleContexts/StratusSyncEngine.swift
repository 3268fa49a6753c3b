import CloudKit

private var container: CKContainer { fatalError() }
private var engine: CKSyncEngine { fatalError() }
private var hut: CKRecord { fatalError() }
private var store: Store { fatalError() }

/// What an app keeps.
private actor Store: CKSyncEngineDelegate {
    nonisolated var engineState: CKSyncEngine.State.Serialization? { fatalError() }
    func record(for id: CKRecord.ID) -> CKRecord? { fatalError() }
    func keep(_ state: CKSyncEngine.State.Serialization) {}
    func keep(_ record: CKRecord) {}
    func remove(_ id: CKRecord.ID) {}
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {}
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) -> CKSyncEngine.RecordZoneChangeBatch? { fatalError() }
}
