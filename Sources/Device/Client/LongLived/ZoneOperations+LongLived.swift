import Foundation

extension CKModifyRecordZonesOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordZonesToSave, "recordZonesToSave")
        try writer.write(recordZoneIDsToDelete, "recordZoneIDsToDelete")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordZonesToSave = try reader.objects(CKRecordZone.self, "recordZonesToSave")
        recordZoneIDsToDelete = try reader.objects(CKRecordZoneID.self, "recordZoneIDsToDelete")
    }
}

extension CKFetchRecordZonesOperation: LongLivedFetch {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordZoneIDs, "recordZoneIDs")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordZoneIDs = try reader.objects(CKRecordZoneID.self, "recordZoneIDs")
    }

    typealias ItemID = CKRecordZoneID
    typealias Item = CKRecordZone
    static var resultsKey: String { "zones" }
}

extension CKModifySubscriptionsOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(subscriptionsToSave, "subscriptionsToSave")
        writer.coder.archive(subscriptionIDsToDelete, "subscriptionIDsToDelete")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        subscriptionsToSave = try reader.objects(CKSubscription.self, "subscriptionsToSave")
        subscriptionIDsToDelete = reader.coder.archivedStrings("subscriptionIDsToDelete")
    }
}

extension CKFetchSubscriptionsOperation: LongLivedFetch {
    func writeArguments(to writer: JournalWriter) throws {
        writer.coder.archive(subscriptionIDs, "subscriptionIDs")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        subscriptionIDs = reader.coder.archivedStrings("subscriptionIDs")
    }

    typealias ItemID = CKSubscription.ID
    typealias Item = CKSubscription
    static var resultsKey: String { "subscriptions" }
}
