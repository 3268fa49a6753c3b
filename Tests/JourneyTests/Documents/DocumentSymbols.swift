/// A symbol that the Swift code of the founding documents 001 (a memo on all devices of its user) and 002 (a
/// local copy of records) uses, and its places in them.
struct DocumentSymbol {
    enum Place: String {
        case errorHelpers = "001, helpers of CKError"
        case singleton = "001, the database singleton"
        case zone = "001, making the zone"
        case subscription = "001, making the subscription"
        case loading = "001, loading records"
        case saving = "001, saving records"
        case notifications = "001, handling notifications"
        case mapping = "001, from record to note"
        case note = "001, saving a note"
        case conflict = "001, resolving a conflict"
        case delegate = "001, the app delegate"
        case setUp = "002, setting up"
        case subscribing = "002, subscribing"
        case listening = "002, listening"
        case databaseChanges = "002, changes of the database"
        case zoneChanges = "002, changes of zones"
        case metadata = "002, metadata of records"
    }

    /// The spelling in code.
    let spelling: String
    let places: [Place]

    init(_ spelling: String, _ places: Place...) {
        self.spelling = spelling
        self.places = places
    }

    static let all: [Self] = types + members + codes + foundation

    /// Types, and the names that they had in Swift 3.
    private static let types: [Self] = [
        Self("CKAsset", .mapping, .note),
        Self("CKContainer", .zone, .subscription, .loading, .saving, .notifications, .setUp),
        Self("CKCurrentUserDefaultName", .setUp),
        Self("CKDatabase", .databaseChanges, .zoneChanges),
        Self("CKDatabaseNotification", .listening),
        Self("CKDatabaseScope", .databaseChanges),
        Self("CKDatabaseSubscription", .subscribing),
        Self("CKError", .errorHelpers, .saving, .conflict),
        Self("CKFetchDatabaseChangesOperation", .databaseChanges),
        Self("CKFetchRecordZoneChangesOperation", .notifications, .zoneChanges),
        Self("CKFetchRecordZoneChangesOptions", .notifications, .zoneChanges),
        Self("CKFetchRecordsOperation", .loading),
        Self("CKModifyRecordZonesOperation", .zone, .setUp),
        Self("CKModifyRecordsOperation", .saving),
        Self("CKModifySubscriptionsOperation", .subscription, .subscribing),
        Self("CKNotification", .delegate, .listening),
        Self("CKNotificationInfo", .subscription, .subscribing),
        Self("CKQuerySubscription", .subscription),
        Self("CKRecord", .errorHelpers, .loading, .saving, .mapping, .note, .metadata),
        Self("CKRecordID", .loading, .note),
        Self("CKRecordZone", .singleton, .zone, .setUp),
        Self("CKRecordZoneID", .singleton, .setUp, .databaseChanges),
        Self("CKServerChangeToken", .notifications),
    ]

    private static let members: [Self] = [
        Self("partialErrorsByItemID", .errorHelpers),
        Self("clientRecord", .errorHelpers), Self("serverRecord", .errorHelpers),
        Self("self.code == code", .errorHelpers), Self("CKError.Code", .errorHelpers),
        Self("CKRecordZone(zoneName:", .singleton), Self("CKRecordZone(zoneID:", .zone, .setUp),
        Self(".zoneID", .singleton), Self("CKContainer.default()", .zone, .setUp),
        Self(".privateCloudDatabase", .zone, .setUp), Self(".sharedCloudDatabase", .setUp),
        Self(".add(", .zone, .setUp), Self(".qualityOfService = .utility", .zone, .subscribing),
        Self(".qualityOfService = .userInitiated", .setUp, .databaseChanges),
        Self("recordZonesToSave:", .zone, .setUp), Self("recordZoneIDsToDelete:", .zone, .setUp),
        Self("modifyRecordZonesCompletionBlock", .zone, .setUp),
        Self("subscriptionsToSave:", .subscription, .subscribing),
        Self("subscriptionIDsToDelete:", .subscription, .subscribing),
        Self("modifySubscriptionsCompletionBlock", .subscription, .subscribing),
        Self("CKDatabaseSubscription.init(subscriptionID:", .subscribing),
        Self("CKNotificationInfo()", .subscription, .subscribing),
        Self("shouldSendContentAvailable = true", .subscription, .subscribing),
        Self("subscription.notificationInfo = ", .subscription, .subscribing),
        Self(".firesOnRecordCreation", .subscription), Self(".firesOnRecordUpdate", .subscription),
        Self(".firesOnRecordDeletion", .subscription),
        Self("CKRecordID(recordName:", .loading),
        Self("CKFetchRecordsOperation(recordIDs:", .loading),
        Self("fetchRecordsCompletionBlock", .loading),
        Self("CKError.unknownItem as? Error", .loading),
        Self("CKModifyRecordsOperation(recordsToSave:", .saving),
        Self("recordIDsToDelete:", .saving), Self("modifyRecordsCompletionBlock", .saving),
        Self("previousServerChangeToken = ", .notifications, .zoneChanges),
        Self("optionsByRecordZoneID:", .notifications, .zoneChanges),
        Self("fetchAllChanges = true", .notifications),
        Self("recordChangedBlock", .notifications, .zoneChanges),
        Self("recordWithIDWasDeletedBlock = { (recordID) in", .zoneChanges),
        Self("recordZoneChangeTokensUpdatedBlock", .notifications, .zoneChanges),
        Self("recordZoneFetchCompletionBlock", .notifications, .zoneChanges),
        Self("fetchRecordZoneChangesCompletionBlock", .notifications, .zoneChanges),
        Self("record[\"version\"] as? NSNumber", .mapping),
        Self("record[\"text\"] as? CKAsset", .mapping),
        Self("record[\"modified\"] as? Date", .mapping),
        Self("String(contentsOf: asset!.fileURL)", .mapping), Self("CKAsset(fileURL:", .note),
        Self("CKRecord(recordType: \"memo\", recordID:", .note),
        Self("?[\"version\"] = NSNumber(value:", .note), Self("as NSDate", .note, .conflict),
        Self("theirs[\"text\"] = ours[\"text\"]", .conflict), Self(".recordID", .delegate),
        Self("CKNotification(fromRemoteNotificationDictionary: dict)", .delegate),
        Self("notification.subscriptionID", .delegate),
        Self("as? CKDatabaseNotification", .listening),
        Self("notification.databaseScope", .listening),
        Self("registerForRemoteNotifications()", .listening),
        Self("case .private:", .databaseChanges), Self("case .shared:", .databaseChanges),
        Self("case .public:", .databaseChanges),
        Self("CKFetchDatabaseChangesOperation(previousServerChangeToken:", .databaseChanges),
        Self("recordZoneWithIDChangedBlock", .databaseChanges),
        Self("recordZoneWithIDWasDeletedBlock", .databaseChanges),
        Self("changeTokenUpdatedBlock", .databaseChanges),
        Self("fetchDatabaseChangesCompletionBlock", .databaseChanges),
        Self("record.encodeSystemFields(with: coder)", .metadata),
        Self("CKRecord(coder: coder)", .metadata),
    ]

    private static let codes: [Self] = [
        Self(".zoneNotFound", .errorHelpers), Self(".unknownItem", .errorHelpers, .loading),
        Self(".serverRecordChanged", .errorHelpers), Self(".partialFailure", .errorHelpers),
    ]

    /// Symbols of Foundation that differ on Linux, or might.
    private static let foundation: [Self] = [
        Self("NSPredicate(value: true)", .subscription),
        Self("UserDefaults.standard.bool(forKey:", .subscription),
        Self("UserDefaults.standard.data(forKey:", .notifications),
        Self("UserDefaults.standard.set(", .notifications),
        Self("NSKeyedUnarchiver.unarchiveObject(with:", .notifications),
        Self("NSKeyedArchiver.archivedData(withRootObject:", .notifications),
        Self("NSTemporaryDirectory()", .note), Self("NSUUID().uuidString", .note),
        Self("NSURL.fileURL(withPathComponents:", .note),
        Self("write(to: fileURL!, atomically: true, encoding: .utf8)", .note),
        Self("compare(theirDate!) == .orderedDescending", .conflict),
        Self("userInfo as! [String: NSObject]", .delegate, .listening),
        Self("DispatchGroup()", .setUp), Self(".notify(queue: DispatchQueue.global())", .setUp),
        Self("NSMutableData()", .metadata),
        Self("NSKeyedArchiver.init(forWritingWith: data)", .metadata),
        Self("requiresSecureCoding = true", .metadata), Self("finishEncoding()", .metadata),
        Self("NSKeyedUnarchiver(forReadingWith: row.encodedSystemFields!)", .metadata),
        Self("finishDecoding()", .metadata),
    ]
}
