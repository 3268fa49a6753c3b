import StratusClient

/// A zone of a private database, whose change feed reports saved and deleted records.
struct FeedSource: DatabaseSource {
    let requests: DatabaseRequests
    var tellsDeletions: Bool { true }
    private var subscriptionID: String { "stratus-mapping-\(zoneID.zoneName)" }

    func userRecordName() async throws -> String? {
        try await database.container.userRecordID().recordName
    }

    func isPrepared() async throws -> Bool {
        do {
            _ = try await database.recordZone(for: zoneID)
            return true
        } catch let error as CKError where error.isZoneMissing {
            // `prepare()` creates the zone.
            return false
        }
    }

    func prepare() async throws { _ = try await database.save(CKRecordZone(zoneID: zoneID)) }

    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges {
        var changes = RemoteChanges(isComplete: mark == nil)
        var token = mark.map { CKServerChangeToken(text: $0) }
        while true {
            do {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                var lacking: [String] = []
                for (id, result) in page.modificationResultsByID {
                    changes.deletedNames.remove(id.recordName)
                    changes.unreadable[id.recordName] = nil
                    do {
                        changes.records[id.recordName] = try result.get().record
                    } catch let error as CKError where error.lacksAsset {
                        // The record is fetched without its file below.
                        lacking.append(id.recordName)
                    } catch let error as CKError where error.isOfUnreadableRecord {
                        // The sync sets the record aside.
                        changes.records[id.recordName] = nil
                        changes.unreadable[id.recordName] = error
                    }
                }
                let found = try await requests.withoutFiles(lacking)
                changes.records.merge(found.records) { $1 }
                changes.unreadable.merge(found.unreadable) { $1 }
                for deletion in page.deletions {
                    changes.records[deletion.recordID.recordName] = nil
                    changes.unreadable[deletion.recordID.recordName] = nil
                    changes.deletedNames.insert(deletion.recordID.recordName)
                }
                token = page.changeToken
                changes.mark = page.changeToken.text
                if !page.moreComing { return changes }
            } catch let error as CKError where token != nil && error.contains(.changeTokenExpired) {
                // The device was away too long: everything is compared. A fetch without a token that is refused for
                // this reason too would be refused forever.
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
}

extension CKSubscription.NotificationInfo {
    static var silent: CKSubscription.NotificationInfo {
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }
}
