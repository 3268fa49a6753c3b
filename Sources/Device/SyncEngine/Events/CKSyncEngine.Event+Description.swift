import StratusClient
import StratusSync

// Descriptions of events for logs: IDs and errors, never the values of fields.

extension CKSyncEngine.Event: CustomStringConvertible {
    public var description: String {
        // Each case has one value, which describes itself.
        Mirror(reflecting: self).children.map { "\($0.value)" }.joined()
    }
}

extension CKSyncEngine.Event.StateUpdate: CustomStringConvertible {
    public var description: String { "<StateUpdate>" }
}

extension CKSyncEngine.Event.AccountChange: CustomStringConvertible {
    public var description: String {
        switch changeType {
        case .signIn(let user): "<AccountChange: sign-in of \(user.recordName)>"
        case .signOut(let user): "<AccountChange: sign-out of \(user.recordName)>"
        case .switchAccounts(let previous, let current):
            "<AccountChange: from \(previous.recordName) to \(current.recordName)>"
        }
    }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges: CustomStringConvertible {
    public var description: String {
        let gone = deletions.map { "\($0.zoneID.zoneName) (\($0.reason))" }
        let changed = modifications.map(\.zoneID.zoneName)
        return "<FetchedDatabaseChanges: changed \(changed), gone \(gone)>"
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges: CustomStringConvertible {
    public var description: String {
        let failed = failedZoneSaves.map { "\($0.zone.zoneID.zoneName): \($0.error.code)" }
        let undeleted = failedZoneDeletes.map { "\($0.key.zoneName): \($0.value.code)" }
        return sent(self, savedZones.count, deletedZoneIDs.count, failed + undeleted)
    }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges: CustomStringConvertible {
    public var description: String {
        "<FetchedRecordZoneChanges: \(modifications.count) changed, \(deletions.count) deleted>"
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges: CustomStringConvertible {
    public var description: String {
        let failed = failedRecordSaves.map { "\($0.record.recordID.recordName): \($0.error.code)" }
        let undeleted = failedRecordDeletes.map { "\($0.key.recordName): \($0.value.code)" }
        return sent(self, savedRecords.count, deletedRecordIDs.count, failed + undeleted)
    }
}

private func sent<Event>(
    _ event: Event, _ saved: Int, _ deleted: Int, _ failed: [String]
) -> String {
    "<\(Event.self): \(saved) saved, \(deleted) deleted, failed \(failed)>"
}

extension CKSyncEngine.Event.WillFetchChanges: CustomStringConvertible {
    public var description: String { "<WillFetchChanges: \(context)>" }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges: CustomStringConvertible {
    public var description: String { "<WillFetchRecordZoneChanges: \(zoneID.zoneName)>" }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges: CustomStringConvertible {
    public var description: String {
        let failure = error.map { ", \($0.code)" } ?? ""
        return "<DidFetchRecordZoneChanges: \(zoneID.zoneName)\(failure)>"
    }
}

extension CKSyncEngine.Event.DidFetchChanges: CustomStringConvertible {
    public var description: String { "<DidFetchChanges: \(context)>" }
}

extension CKSyncEngine.Event.WillSendChanges: CustomStringConvertible {
    public var description: String { "<WillSendChanges: \(context)>" }
}

extension CKSyncEngine.Event.DidSendChanges: CustomStringConvertible {
    public var description: String { "<DidSendChanges: \(context)>" }
}
