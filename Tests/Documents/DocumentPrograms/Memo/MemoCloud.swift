// swift-format-ignore-file: NeverForceUnwrap
// The guides force-unwrap in this way, and the programs follow their style.

import CloudKit

@available(*, deprecated, message: "In the manner of Swift 3.")
public protocol MemoCloudDelegate {
    func memoCloudChanged(record: CKRecord)
}

/// The memo's requests, one operation each.
@available(*, deprecated, message: "In the manner of Swift 3.")
public class MemoCloud {
    static let shared = MemoCloud()

    private init() {
        let zone = CKRecordZone(zoneName: "memo-zone")
        zoneID = zone.zoneID
    }

    public var delegate: MemoCloudDelegate?
    public var zoneID: CKRecordZoneID?

    // MARK: The zone

    private func makeZone(completion: @escaping (Error?) -> Void) {
        let zone = CKRecordZone(zoneID: self.zoneID!)
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: [zone], recordZoneIDsToDelete: [])
        operation.modifyRecordZonesCompletionBlock = { _, _, error in
            guard error == nil else {
                completion(error)
                return
            }
            completion(nil)
        }
        operation.qualityOfService = .utility
        let container = CKContainer.default()
        let db = container.privateCloudDatabase
        db.add(operation)
    }

    // MARK: The subscription

    public let subscriptionID = "memo-changes"
    let subscriptionSavedKey = "memoSubscriptionSaved"

    public func subscribe() {
        let isSaved = UserDefaults.standard.bool(forKey: subscriptionSavedKey)
        guard !isSaved else {
            return
        }
        let predicate = NSPredicate(value: true)
        let subscription = CKQuerySubscription(
            recordType: "memo", predicate: predicate, subscriptionID: subscriptionID,
            options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnRecordUpdate])
        let notificationInfo = CKNotificationInfo()
        notificationInfo.shouldSendContentAvailable = true
        subscription.notificationInfo = notificationInfo
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        operation.modifySubscriptionsCompletionBlock = { (_, _, error) in
            guard error == nil else {
                return
            }
            UserDefaults.standard.set(true, forKey: self.subscriptionSavedKey)
        }
        operation.qualityOfService = .utility
        let container = CKContainer.default()
        let db = container.privateCloudDatabase
        db.add(operation)
    }

    // MARK: Records

    public func fetch(name: String, completion: @escaping (CKRecord?, Error?) -> Void) {
        let recordID = CKRecordID(recordName: name, zoneID: self.zoneID!)
        let operation = CKFetchRecordsOperation(recordIDs: [recordID])
        operation.fetchRecordsCompletionBlock = { records, error in
            guard error == nil else {
                completion(nil, error)
                return
            }
            guard let record = records?[recordID] else {
                completion(nil, CKError.unknownItem as? Error)
                return
            }
            completion(record, nil)
        }
        operation.qualityOfService = .utility
        let container = CKContainer.default()
        let db = container.privateCloudDatabase
        db.add(operation)
    }

    public func store(record: CKRecord, completion: @escaping (Error?) -> Void) {
        let operation = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: [])
        operation.modifyRecordsCompletionBlock = { _, _, error in
            guard error == nil else {
                guard let cloudError = error as? CKError else {
                    completion(error)
                    return
                }
                guard cloudError.isZoneMissing() else {
                    completion(error)
                    return
                }
                // The first save: create the zone, then save again.
                self.makeZone() { error in
                    guard error == nil else {
                        completion(error)
                        return
                    }
                    self.store(record: record, completion: completion)
                }
                return
            }
            self.subscribe()
            completion(nil)
        }
        operation.qualityOfService = .utility
        let container = CKContainer.default()
        let db = container.privateCloudDatabase
        db.add(operation)
    }

    // MARK: Changes

    private let tokenKey = "memoChangeToken"

    public func fetchChanges() {
        var token: CKServerChangeToken? = nil
        let stored = UserDefaults.standard.data(forKey: tokenKey)
        if stored != nil {
            token = NSKeyedUnarchiver.unarchiveObject(with: stored!) as! CKServerChangeToken?
        }
        let options = CKFetchRecordZoneChangesOptions()
        options.previousServerChangeToken = token
        let optionsByZone = [zoneID!: options]
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID!], optionsByRecordZoneID: optionsByZone)
        operation.fetchAllChanges = true
        operation.recordChangedBlock = { record in
            self.delegate?.memoCloudChanged(record: record)
        }
        operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, data in
            guard let token = token else {
                return
            }
            let stored = NSKeyedArchiver.archivedData(withRootObject: token)
            UserDefaults.standard.set(stored, forKey: self.tokenKey)
        }
        operation.recordZoneFetchCompletionBlock = { zoneID, token, data, more, error in
            guard error == nil else {
                return
            }
            guard let token = token else {
                return
            }
            let stored = NSKeyedArchiver.archivedData(withRootObject: token)
            UserDefaults.standard.set(stored, forKey: self.tokenKey)
        }
        operation.fetchRecordZoneChangesCompletionBlock = { error in
            guard error == nil else {
                return
            }
        }
        operation.qualityOfService = .utility
        let container = CKContainer.default()
        let db = container.privateCloudDatabase
        db.add(operation)
    }
}
