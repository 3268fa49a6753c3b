import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import Synchronization

/// The app as its engine's delegate.
extension EngineApp {
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        state.withLock { $0.options }?(context) ?? context.options
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        if let batch = state.withLock({ $0.batch }) { return await batch(context) }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter {
            context.options.scope.contains($0)
        }
        return await Batch(pendingChanges: changes) { recordID in
            guard let record = self.record(recordID) else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            return record
        }
    }

    /// The record to send: the service's record with the app's text.
    func record(_ recordID: CKRecord.ID) -> CKRecord? {
        state.withLock { state in
            guard let text = state.file.texts[recordID.recordName] else { return nil }
            let known = state.file.known[recordID.recordName]
            let record =
                known?.copy() as? CKRecord ?? CKRecord(recordType: "Hut", recordID: recordID)
            if record["text"] as? String != text { record["text"] = text }
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        await state.withLock { $0.onEvent }(event, syncEngine)
        let resolves = state.withLock { $0.resolves }
        switch event {
        case .stateUpdate(let update):
            // Encoding a state never fails.
            let data = try? JSONEncoder().encode(update.stateSerialization)
            state.withLock { $0.file.engineState = data }
        case .accountChange(let change): handle(change, syncEngine)
        case .fetchedDatabaseChanges(let changes): handle(changes, syncEngine)
        case .fetchedRecordZoneChanges(let changes): handle(changes, syncEngine)
        case .sentRecordZoneChanges(let changes): handle(changes, syncEngine, resolves)
        default: break
        }
        note(event)
    }

    private func note(_ event: CKSyncEngine.Event) {
        guard let line = event.line else { return }
        if ProcessInfo.processInfo.environment["ENGINE_LOG"] != nil {
            print("\(database.container.connection.deviceID) \(line)")
        }
        let resumes = state.withLock { state in
            state.log.append(line)
            let log = state.log
            let met = state.watchers.filter { $0.isMet(log) }
            state.watchers.removeAll { $0.isMet(log) }
            return met.map(\.resume)
        }
        for resume in resumes { resume() }
    }

    private func handle(
        _ change: CKSyncEngine.Event.AccountChange, _ engine: CKSyncEngine
    ) {
        switch change.changeType {
        case .signIn:
            let names = state.withLock { state in
                state.file.known = [:]
                return Array(state.file.texts.keys)
            }
            engine.state.add(
                pendingRecordZoneChanges: names.sorted().map { .saveRecord(hut($0, in: zoneID)) })
        case .signOut, .switchAccounts:
            state.withLock { state in
                state.file.texts = [:]
                state.file.known = [:]
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine
    ) {
        for deletion in changes.deletions where deletion.zoneID == zoneID {
            switch deletion.reason {
            case .deleted, .purged:
                let names = state.withLock { state in
                    defer {
                        state.file.texts = [:]
                        state.file.known = [:]
                    }
                    return Set(state.file.texts.keys).union(state.file.known.keys)
                }
                engine.state.remove(
                    pendingRecordZoneChanges: names.flatMap {
                        [.saveRecord(hut($0, in: zoneID)), .deleteRecord(hut($0, in: zoneID))]
                    })
            case .encryptedDataReset:
                let names = state.withLock { state in
                    state.file.known = [:]
                    return Array(state.file.texts.keys)
                }
                engine.state.add(
                    pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
                engine.state.add(
                    pendingRecordZoneChanges: names.sorted().map {
                        .saveRecord(hut($0, in: zoneID))
                    })
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine
    ) {
        let pending = Set(engine.state.pendingRecordZoneChanges)
        state.withLock { state in
            for modification in changes.modifications {
                let record = modification.record
                let name = record.recordID.recordName
                if pending.contains(.deleteRecord(record.recordID)) { continue }
                state.file.known[name] = record
                if !pending.contains(.saveRecord(record.recordID)) {
                    state.file.texts[name] = record["text"]
                }
            }
            for deletion in changes.deletions {
                let name = deletion.recordID.recordName
                state.file.known[name] = nil
                // A pending edit of a deleted record creates the record again.
                if !pending.contains(.saveRecord(deletion.recordID)) {
                    state.file.texts[name] = nil
                }
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine,
        _ resolves: Bool
    ) {
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        var needsZone = false
        state.withLock { state in
            for record in changes.savedRecords {
                state.file.known[record.recordID.recordName] = record
            }
            guard resolves else { return }
            for failure in changes.failedRecordSaves {
                let recordID = failure.record.recordID
                let name = recordID.recordName
                switch failure.error.code {
                case .serverRecordChanged:
                    guard let server = failure.error.serverRecord else { continue }
                    state.file.known[name] = server
                    let theirs: String = server["text"] ?? ""
                    // The greater text wins, on every device.
                    if let ours = state.file.texts[name], ours > theirs {
                        again.append(.saveRecord(recordID))
                    } else if state.file.texts[name] != nil {
                        state.file.texts[name] = theirs
                    }
                case .zoneNotFound:
                    state.file.known[name] = nil
                    needsZone = true
                    again.append(.saveRecord(recordID))
                case .unknownItem:
                    state.file.known[name] = nil
                    again.append(.saveRecord(recordID))
                case .limitExceeded: again.append(.saveRecord(recordID))
                default: break
                }
            }
            // The engine does not split a single change and leaves its failure to the app, also for a deletion.
            for (recordID, error) in changes.failedRecordDeletes where error.code == .limitExceeded
            {
                again.append(.deleteRecord(recordID))
            }
        }
        if needsZone {
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        }
        engine.state.add(pendingRecordZoneChanges: again)
    }
}

extension CKSyncEngine.Event {
    /// The event in one line, without the parts that differ between runs; nil for state updates.
    var line: String? {
        switch self {
        case .stateUpdate: return nil
        case .accountChange(let event):
            switch event.changeType {
            case .signIn: return "signIn"
            case .signOut: return "signOut"
            case .switchAccounts: return "switchAccounts"
            }
        case .fetchedDatabaseChanges(let event):
            return
                (["zones"] + event.modifications.map { "+\($0.zoneID.zoneName)" }.sorted()
                + event.deletions.map { "-\($0.zoneID.zoneName) \($0.reason)" }.sorted())
                .joined(separator: " ")
        case .fetchedRecordZoneChanges(let event):
            return
                (["fetched"] + event.modifications.map { "+\($0.record.recordID.recordName)" }
                + event.deletions.map { "-\($0.recordID.recordName)" }).joined(separator: " ")
        case .sentDatabaseChanges(let event):
            var words = ["sentZones"] + event.savedZones.map { "+\($0.zoneID.zoneName)" }
            words += event.deletedZoneIDs.map { "-\($0.zoneName)" }
            words += event.failedZoneSaves.map { "+\($0.zone.zoneID.zoneName)!\($0.error.code)" }
            words += event.failedZoneDeletes.map { "-\($0.key.zoneName)!\($0.value.code)" }
            return words.joined(separator: " ")
        case .sentRecordZoneChanges(let event):
            var words = ["sent"] + event.savedRecords.map { "+\($0.recordID.recordName)" }
            words += event.deletedRecordIDs.map { "-\($0.recordName)" }
            words += event.failedRecordSaves.map {
                "+\($0.record.recordID.recordName)!\($0.error.code)"
            }
            words += event.failedRecordDeletes.map { "-\($0.key.recordName)!\($0.value.code)" }
            return words.joined(separator: " ")
        case .willFetchChanges(let event): return "willFetch \(event.context.reason)"
        case .willFetchRecordZoneChanges(let event): return "willFetch \(event.zoneID.zoneName)"
        case .didFetchRecordZoneChanges(let event):
            return "didFetch \(event.zoneID.zoneName)" + (event.error.map { "!\($0.code)" } ?? "")
        case .didFetchChanges(let event): return "didFetch \(event.context.reason)"
        case .willSendChanges(let event): return "willSend \(event.context.reason)"
        case .didSendChanges(let event): return "didSend \(event.context.reason)"
        }
    }
}
