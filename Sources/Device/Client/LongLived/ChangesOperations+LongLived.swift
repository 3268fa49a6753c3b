import Foundation

extension CKFetchRecordZoneChangesOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        try writer.write(recordZoneIDs, "recordZoneIDs")
        try writer.write(
            configurationsByRecordZoneID.map { Array($0.keys) }, "configuredZoneIDs")
        try writer.write(
            configurationsByRecordZoneID.map { Array($0.values) }, "configurations")
        writer.coder.encode(fetchAllChanges, forKey: "fetchAllChanges")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        recordZoneIDs = try reader.objects(CKRecordZoneID.self, "recordZoneIDs")
        let zoneIDs = try reader.objects(CKRecordZoneID.self, "configuredZoneIDs")
        if let zoneIDs {
            let configurations = try reader.objects(ZoneConfiguration.self, "configurations")
            configurationsByRecordZoneID = Dictionary(
                zip(zoneIDs, configurations ?? [])
            ) { first, _ in first }
        }
        fetchAllChanges = reader.coder.decodeBool(forKey: "fetchAllChanges")
    }

    static func write(_ page: Page, to writer: JournalWriter) throws {
        let coder = writer.coder
        coder.archive(page.zoneID, "zoneID")
        coder.encode(page.isIntermediate, forKey: "isIntermediate")
        switch page.result {
        case .failure(let error): writer.write(error, "error")
        case .success(let changes):
            coder.archive(changes.token, "token")
            coder.encode(changes.moreComing, forKey: "moreComing")
            var records: [DatabaseSession.FetchedRecord] = []
            var deletedTypes: [String] = []
            // A deletion is a change without a record and without an error.
            let deleted = CKError(.unknownItem)
            for change in changes.changes {
                switch change {
                case .changed(let record): records.append((record.recordID, .success(record)))
                case .failed(let recordID, let error):
                    records.append((recordID, .failure(error)))
                case .deleted(let deletion):
                    records.append((deletion.recordID, .failure(deleted)))
                    coder.encode(
                        Int64(deletedTypes.count), forKey: "deletion.\(records.count - 1)")
                    deletedTypes.append(deletion.recordType)
                }
            }
            try writer.write(records, "changes", keepsFiles: true)
            coder.archive(deletedTypes, "deletedTypes")
        }
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> Page {
        let coder = reader.coder
        guard let zoneID = coder.archivedObject(CKRecordZoneID.self, "zoneID") else {
            throw OperationJournal.Damaged()
        }
        let isIntermediate = coder.decodeBool(forKey: "isIntermediate")
        if let error = reader.error("error") {
            return Page(zoneID: zoneID, result: .failure(error))
        }
        guard let token = coder.archivedObject(CKServerChangeToken.self, "token"),
            let deletedTypes = coder.archivedStrings("deletedTypes")
        else { throw OperationJournal.Damaged() }
        let records: [DatabaseSession.FetchedRecord] = try reader.results(
            "changes", in: assetFolder)
        let changes = records.enumerated().map { index, fetched -> ZoneChangesPage.Change in
            switch fetched.result {
            case .success(let record): return .changed(record)
            case .failure(let error):
                let key = "deletion.\(index)"
                guard coder.containsValue(forKey: key) else {
                    return .failed(fetched.item, CKError(requestFailedWith: error))
                }
                let place = Int(coder.decodeInt64(forKey: key))
                return .deleted(
                    CKDatabase.RecordZoneChange.Deletion(
                        recordID: fetched.item,
                        recordType: deletedTypes.indices.contains(place) ? deletedTypes[place] : "")
                )
            }
        }
        return Page(
            zoneID: zoneID,
            result: .success(
                ZoneChangesPage(
                    changes: changes, token: token,
                    moreComing: coder.decodeBool(forKey: "moreComing"))),
            isIntermediate: isIntermediate)
    }
}

extension CKFetchDatabaseChangesOperation: LongLivedOperation {
    func writeArguments(to writer: JournalWriter) throws {
        writer.coder.archive(previousServerChangeToken, "previousServerChangeToken")
        writer.coder.encode(Int64(resultsLimit), forKey: "resultsLimit")
        writer.coder.encode(fetchAllChanges, forKey: "fetchAllChanges")
    }

    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws {
        previousServerChangeToken = reader.coder.archivedObject(
            CKServerChangeToken.self, "previousServerChangeToken")
        resultsLimit = Int(reader.coder.decodeInt64(forKey: "resultsLimit"))
        fetchAllChanges = reader.coder.decodeBool(forKey: "fetchAllChanges")
    }

    private static let reasons: [(String, CKDatabase.DatabaseChange.Deletion.Reason)] = [
        ("deleted", .deleted), ("purged", .purged), ("encryptedDataReset", .encryptedDataReset),
    ]

    static func write(_ page: Page, to writer: JournalWriter) throws {
        writer.coder.encode(page.isIntermediate, forKey: "isIntermediate")
        writer.coder.archive(page.changes.token, "token")
        writer.coder.encode(page.changes.moreComing, forKey: "moreComing")
        try writer.write(page.changes.changed, "changed")
        try writer.write(page.changes.deleted.map(\.zoneID), "deleted")
        let words = page.changes.deleted.compactMap { deletion in
            reasons.first { $0.1 == deletion.reason }?.0
        }
        writer.coder.archive(words, "reasons")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> Page {
        let coder = reader.coder
        guard let token = coder.archivedObject(CKServerChangeToken.self, "token"),
            let changed = try reader.objects(CKRecordZoneID.self, "changed"),
            let deleted = try reader.objects(CKRecordZoneID.self, "deleted"),
            let words = coder.archivedStrings("reasons"), words.count == deleted.count
        else { throw OperationJournal.Damaged() }
        return Page(
            changes: DatabaseChangesPage(
                changed: changed,
                deleted: zip(deleted, words).map { ($0, .init(wireWord: $1)) },
                token: token, moreComing: coder.decodeBool(forKey: "moreComing")),
            isIntermediate: coder.decodeBool(forKey: "isIntermediate"))
    }
}
