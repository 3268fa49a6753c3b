import Foundation

extension CKModifyRecordsOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordsToSave, "recordsToSave")
        for (index, record) in (recordsToSave ?? []).enumerated() {
            try writer.write(filesOf: record, "recordsToSave.\(index).files")
        }
        try writer.write(recordIDsToDelete, "recordIDsToDelete")
        writer.coder.encode(Int64(savePolicy.rawValue), forKey: "savePolicy")
        writer.coder.encode(isAtomic, forKey: "isAtomic")
        if let clientChangeTokenData {
            writer.coder.encode(clientChangeTokenData as NSData, forKey: "clientChangeTokenData")
        }
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordsToSave = try reader.objects(CKRecord.self, "recordsToSave")
        for (index, record) in (recordsToSave ?? []).enumerated() {
            try reader.restoreFiles(
                of: record, "recordsToSave.\(index).files", in: assetFolder)
        }
        recordIDsToDelete = try reader.objects(CKRecordID.self, "recordIDsToDelete")
        let policy = RecordSavePolicy(
            rawValue: Int(reader.coder.decodeInt64(forKey: "savePolicy")))
        guard let policy else { throw OperationJournal.Damaged() }
        savePolicy = policy
        isAtomic = reader.coder.decodeBool(forKey: "isAtomic")
        clientChangeTokenData = reader.coder.archivedData("clientChangeTokenData")
    }
}

extension CKFetchRecordsOperation: LongLivedFetch {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordIDs, "recordIDs")
        writer.coder.archive(desiredKeys, "desiredKeys")
        writer.coder.encode(isForCurrentUser, forKey: "isForCurrentUser")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordIDs = try reader.objects(CKRecordID.self, "recordIDs")
        desiredKeys = reader.coder.archivedStrings("desiredKeys")
        isForCurrentUser = reader.coder.decodeBool(forKey: "isForCurrentUser")
    }

    typealias ItemID = CKRecordID
    typealias Item = CKRecord
    static var resultsKey: String { "records" }
}

extension CKQueryOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        writer.coder.archive(query, "query")
        writer.coder.archive(cursor, "cursor")
        writer.coder.archive(zoneID, "zoneID")
        writer.coder.encode(Int64(resultsLimit), forKey: "resultsLimit")
        writer.coder.archive(desiredKeys, "desiredKeys")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        query = reader.coder.archivedObject(CKQuery.self, "query")
        cursor = reader.coder.archivedObject(CKQueryCursor.self, "cursor")
        zoneID = reader.coder.archivedObject(CKRecordZoneID.self, "zoneID")
        resultsLimit = Int(reader.coder.decodeInt64(forKey: "resultsLimit"))
        desiredKeys = reader.coder.archivedStrings("desiredKeys")
    }

    static func write(_ page: QueryPage, to writer: JournalWriter) throws {
        try writer.write(page.matches, "matches", keepsFiles: true)
        writer.coder.archive(page.cursor, "cursor")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> QueryPage {
        QueryPage(
            matches: try reader.results("matches", in: assetFolder),
            cursor: reader.coder.archivedObject(CKQueryCursor.self, "cursor"))
    }
}
