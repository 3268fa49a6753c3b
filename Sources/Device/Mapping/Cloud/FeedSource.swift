import StratusClient

/// A zone of a private database: its change feed tells what was saved and what was deleted.
struct FeedSource: RecordSource {
    let requests: DatabaseRequests
    var zoneID: CKRecordZone.ID { requests.zoneID }
    var tellsDeletions: Bool { true }
    private var database: CKDatabase { requests.database }
    private var subscriptionID: String { "stratus-mapping-\(zoneID.zoneName)" }

    func userRecordName() async throws -> String? {
        try await database.container.userRecordID().recordName
    }

    func isPrepared() async throws -> Bool {
        do {
            _ = try await database.recordZone(for: zoneID)
            return true
        } catch let error as CKError where error.isZoneMissing {
            return false
        }
    }

    func prepare() async throws { _ = try await database.save(CKRecordZone(zoneID: zoneID)) }

    func records(named names: [String], withFiles: Bool) async throws -> [String: CKRecord] {
        try await requests.records(named: names, withFiles: withFiles)
    }

    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>] {
        try await requests.modify(saving: records, deleting: names)
    }

    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges {
        var changes = RemoteChanges(isComplete: mark == nil)
        var token = mark.map { CKServerChangeToken(text: $0) }
        while true {
            do {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                for (id, result) in page.modificationResultsByID {
                    changes.deletedNames.remove(id.recordName)
                    changes.records[id.recordName] = try result.get().record
                }
                for deletion in page.deletions {
                    changes.records[deletion.recordID.recordName] = nil
                    changes.deletedNames.insert(deletion.recordID.recordName)
                }
                token = page.changeToken
                changes.mark = page.changeToken.text
                if !page.moreComing { return changes }
            } catch let error as CKError where error.contains(.changeTokenExpired) {
                // Away for too long: everything is compared.
                changes = RemoteChanges(isComplete: true)
                token = nil
            }
        }
    }

    func records(
        ofType type: String, where field: String, is value: String
    ) async throws -> [CKRecord] { [] }

    func subscribe(types: [String]) async throws {
        let subscription = CKRecordZoneSubscription(
            zoneID: zoneID, subscriptionID: subscriptionID)
        subscription.notificationInfo = .silent
        _ = try await database.save(subscription)
    }

    func isAbout(_ notification: CKNotification) async -> (isOurs: Bool, type: String?) {
        (notification.subscriptionID == subscriptionID, nil)
    }

    func exchange() async throws {}
}

extension CKSubscription.NotificationInfo {
    static var silent: CKSubscription.NotificationInfo {
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }
}
