import CloudKit

extension CloudKitNote {
    /// Sends what was typed. In a conflict the later edit wins, and this device keeps the text of the other one
    /// (``NoteCopy/overruled``).
    ///
    /// The first step prepares a record; the second is repeated while other devices save first.
    public func save() async throws {
        guard copy.isUnsaved else { return }
        if copy.systemFields == nil { try await load() }
        // The note in the cloud may be the later one.
        guard copy.isUnsaved, let modified = copy.modifiedMilliseconds else { return }
        let record = copy.systemFields.flatMap(\.record) ?? newRecord
        let upload = try file.writeUpload(copy.text)
        // Removed now or with the next upload; the file only has the note's text, which is kept anyway.
        defer { file.removeUpload() }
        record["version"] = version
        record["text"] = CKAsset(fileURL: upload)
        record["modified"] = Date(milliseconds: modified)
        try await saveRecord(record)
        subscribeOnce()
    }

    private var newRecord: CKRecord {
        CKRecord(
            recordType: CloudKitNoteDatabase.recordType,
            recordID: CKRecord.ID(recordName: Self.recordName, zoneID: database.zoneID))
    }

    private func saveRecord(_ first: CKRecord) async throws {
        var record = first
        while true {
            do {
                return try confirm(try await database.saveRecord(record))
            } catch let error as CKError {
                guard let (ours, theirs) = error.getMergeRecords() else { throw error }
                try checkVersion(of: theirs)
                let complete = try await withText(theirs)
                let (text, modified) = try content(of: complete)
                guard let ourDate = ours["modified"] as? Date, ourDate.milliseconds > modified
                else { return try await adopt(complete) }
                var next = copy
                if text != copy.text { next.overruled = text }
                try keep(next)
                complete["text"] = ours["text"]
                complete["modified"] = ourDate
                complete["version"] = version
                record = complete
            }
        }
    }

    /// Returns the service's record of a conflict, fetched again if it came without the text's file.
    private func withText(_ record: CKRecord) async throws -> CKRecord {
        if (record["text"] as? CKAsset)?.fileURL != nil { return record }
        return try await database.loadRecord(name: Self.recordName)
    }

    /// Notes that the service has the record; text that was typed meanwhile still has to be sent.
    private func confirm(_ saved: CKRecord) throws {
        var next = copy
        next.systemFields = saved.systemFields
        next.wasRemoved = false
        let modified = (saved["modified"] as? Date)?.milliseconds
        if modified == copy.modifiedMilliseconds { next.isUnsaved = false }
        try keep(next)
    }
}
