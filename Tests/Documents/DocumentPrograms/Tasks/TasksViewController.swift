// swift-format-ignore-file: NeverForceUnwrap
// The guides force-unwrap in this way, and the programs follow their style.

import CloudKit

/// Keeps a local copy of the tasks in the private and the shared database.
@available(*, deprecated, message: "In the manner of Swift 3.")
class TasksViewController: UIViewController {
    let container = CKContainer.default()
    lazy var privateDB = container.privateCloudDatabase
    lazy var sharedDB = container.sharedCloudDatabase

    // The same on all devices of the user.
    let zoneID = CKRecordZoneID(zoneName: "Tasks", ownerName: CKCurrentUserDefaultName)

    let disk = Disk()
    lazy var madeZone = disk.mark("madeZone")
    lazy var subscribedToPrivate = disk.mark("subscribedToPrivate")
    lazy var subscribedToShared = disk.mark("subscribedToShared")

    let privateSubscriptionID = "private-tasks"
    let sharedSubscriptionID = "shared-tasks"

    var rows: [CKRecordID: TaskRow] = [:]

    // MARK: Setting up

    func setUp(completion: @escaping () -> Void) {
        let zoneGroup = DispatchGroup()
        if !self.madeZone {
            zoneGroup.enter()
            let zone = CKRecordZone(zoneID: zoneID)
            let zoneOperation = CKModifyRecordZonesOperation(
                recordZonesToSave: [zone], recordZoneIDsToDelete: [])
            zoneOperation.modifyRecordZonesCompletionBlock = { (saved, deleted, error) in
                if (error == nil) { self.madeZone = true }
                zoneGroup.leave()
            }
            zoneOperation.qualityOfService = .userInitiated
            self.privateDB.add(zoneOperation)
        }
        // Not in the document: the test waits for both.
        let waiting = DispatchGroup()
        if !self.subscribedToPrivate {
            waiting.enter()
            let operation = self.subscriptionOperation(subscriptionID: privateSubscriptionID)
            operation.modifySubscriptionsCompletionBlock = { (subscriptions, deletedIDs, error) in
                if error == nil { self.subscribedToPrivate = true }
                waiting.leave()
            }
            self.privateDB.add(operation)
        }
        if !self.subscribedToShared {
            waiting.enter()
            let operation = self.subscriptionOperation(subscriptionID: sharedSubscriptionID)
            operation.modifySubscriptionsCompletionBlock = { (subscriptions, deletedIDs, error) in
                if error == nil { self.subscribedToShared = true }
                waiting.leave()
            }
            self.sharedDB.add(operation)
        }
        // What happened while the app was not running.
        zoneGroup.notify(queue: DispatchQueue.global()) {
            if self.madeZone {
                // Both at once, as in the document; the test waits for them too.
                waiting.enter()
                self.fetchChanges(in: .private) { waiting.leave() }
                waiting.enter()
                self.fetchChanges(in: .shared) { waiting.leave() }
                waiting.notify(queue: DispatchQueue.global()) {
                    self.keepMarks()
                    completion()
                }
            }
        }
    }

    private func keepMarks() {
        if madeZone { disk.setMark("madeZone") }
        if subscribedToPrivate { disk.setMark("subscribedToPrivate") }
        if subscribedToShared { disk.setMark("subscribedToShared") }
    }

    func subscriptionOperation(subscriptionID: String) -> CKModifySubscriptionsOperation {
        let subscription = CKDatabaseSubscription.init(subscriptionID: subscriptionID)
        let notificationInfo = CKNotificationInfo()
        notificationInfo.shouldSendContentAvailable = true
        subscription.notificationInfo = notificationInfo
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        operation.qualityOfService = .utility
        return operation
    }

    // MARK: Changes

    func fetchChanges(in databaseScope: CKDatabaseScope, completion: @escaping () -> Void) {
        switch databaseScope {
        case .private:
            fetchDatabaseChanges(
                database: self.privateDB, tokenName: "private", completion: completion)
        case .shared:
            fetchDatabaseChanges(
                database: self.sharedDB, tokenName: "shared", completion: completion)
        case .public:
            fatalError()
        }
    }

    func fetchDatabaseChanges(
        database: CKDatabase, tokenName: String, completion: @escaping () -> Void
    ) {
        var changedZoneIDs: [CKRecordZoneID] = []
        let changeToken = disk.object(tokenName) as? CKServerChangeToken
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: changeToken)
        operation.recordZoneWithIDChangedBlock = { (zoneID) in
            changedZoneIDs.append(zoneID)
        }
        operation.recordZoneWithIDWasDeletedBlock = { (zoneID) in
            self.rows = self.rows.filter { $0.key.zoneID != zoneID }
            say("zone deleted \(zoneID.zoneName)")
        }
        operation.changeTokenUpdatedBlock = { (token) in
            self.disk.setObject(token, tokenName)
        }
        operation.fetchDatabaseChangesCompletionBlock = { (token, moreComing, error) in
            if let error = error {
                print("database failed", error)
                completion()
                return
            }
            self.fetchZoneChanges(
                database: database, tokenName: tokenName, zoneIDs: changedZoneIDs
            ) {
                self.disk.setObject(token, tokenName)
                completion()
            }
        }
        operation.qualityOfService = .userInitiated
        database.add(operation)
    }

    func fetchZoneChanges(
        database: CKDatabase, tokenName: String, zoneIDs: [CKRecordZoneID],
        completion: @escaping () -> Void
    ) {
        var optionsByRecordZoneID: [CKRecordZoneID: CKFetchRecordZoneChangesOptions] = [:]
        for zoneID in zoneIDs {
            let options = CKFetchRecordZoneChangesOptions()
            options.previousServerChangeToken =
                disk.object("\(tokenName) \(zoneID.zoneName)") as? CKServerChangeToken
            optionsByRecordZoneID[zoneID] = options
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs, optionsByRecordZoneID: optionsByRecordZoneID)
        operation.recordChangedBlock = { (record) in
            print("record changed:", record.recordID.recordName, record["title"] as? String ?? "-")
            self.keep(record)
        }
        operation.recordWithIDWasDeletedBlock = { (recordID) in
            print("record deleted:", recordID.recordName)
            self.rows[recordID] = nil
        }
        operation.recordZoneChangeTokensUpdatedBlock = { (zoneID, token, data) in
            print("page of", zoneID.zoneName)
            self.disk.setObject(token, "\(tokenName) \(zoneID.zoneName)")
        }
        operation.recordZoneFetchCompletionBlock = { (zoneID, changeToken, _, _, error) in
            if let error = error {
                print("zone failed in \(tokenName) database:", error)
                return
            }
            self.disk.setObject(changeToken, "\(tokenName) \(zoneID.zoneName)")
        }
        operation.fetchRecordZoneChangesCompletionBlock = { (error) in
            if let error = error {
                print("zones failed in \(tokenName) database:", error)
            }
            completion()
        }
        database.add(operation)
    }

    // MARK: Rows

    func keep(_ record: CKRecord) {
        let data = NSMutableData()
        let coder = NSKeyedArchiver.init(forWritingWith: data)
        coder.requiresSecureCoding = true
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let row = rows[record.recordID] ?? TaskRow()
        row.encodedSystemFields = data
        row.title = record["title"] as? String
        rows[record.recordID] = row
    }

    /// The record of a row, without its fields.
    func record(of row: TaskRow) -> CKRecord? {
        let coder = NSKeyedUnarchiver(forReadingWith: row.encodedSystemFields!)
        coder.requiresSecureCoding = true
        let record = CKRecord(coder: coder)
        coder.finishDecoding()
        return record
    }
}
