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

    static func write(_ page: ZonesModification, to writer: JournalWriter) throws {
        try writer.write(page.saves.map { ($0.zoneID, $0.result) }, "saves")
        try writer.write(page.deletions.map { ($0.zoneID, $0.result) }, "deletions")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> ZonesModification {
        ZonesModification(
            saves: try reader.results(
                "saves", CKRecordZoneID.self, CKRecordZone.self, in: assetFolder
            ).map { ($0.0, $0.1) },
            deletions: try reader.results("deletions", CKRecordZoneID.self, in: assetFolder)
                .map { ($0.0, $0.1) })
    }
}

extension CKFetchRecordZonesOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordZoneIDs, "recordZoneIDs")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordZoneIDs = try reader.objects(CKRecordZoneID.self, "recordZoneIDs")
    }

    static func write(_ page: [DatabaseSession.FetchedZone], to writer: JournalWriter) throws {
        try writer.write(page.map { ($0.zoneID, $0.result) }, "zones")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> [DatabaseSession.FetchedZone] {
        try reader.results("zones", CKRecordZoneID.self, CKRecordZone.self, in: assetFolder)
            .map { ($0.0, $0.1) }
    }
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

    static func write(_ page: SubscriptionsModification, to writer: JournalWriter) throws {
        try writer.write(page.saves.map { ($0.subscriptionID as NSString, $0.result) }, "saves")
        try writer.write(
            page.deletions.map { ($0.subscriptionID as NSString, $0.result) }, "deletions")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> SubscriptionsModification {
        SubscriptionsModification(
            saves: try reader.results(
                "saves", NSString.self, CKSubscription.self, in: assetFolder
            ).map { ($0.0 as String, $0.1) },
            deletions: try reader.results("deletions", NSString.self, in: assetFolder)
                .map { ($0.0 as String, $0.1) })
    }
}

extension CKFetchSubscriptionsOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        writer.coder.archive(subscriptionIDs, "subscriptionIDs")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        subscriptionIDs = reader.coder.archivedStrings("subscriptionIDs")
    }

    static func write(
        _ page: [DatabaseSession.FetchedSubscription], to writer: JournalWriter
    ) throws {
        try writer.write(
            page.map { ($0.subscriptionID as NSString, $0.result) }, "subscriptions")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> [DatabaseSession.FetchedSubscription] {
        try reader.results("subscriptions", NSString.self, CKSubscription.self, in: assetFolder)
            .map { ($0.0 as String, $0.1) }
    }
}
