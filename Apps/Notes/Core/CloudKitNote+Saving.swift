import CloudKit

extension CloudKitNote {
    /// Sends what was typed. In a conflict the later edit wins, and this device keeps the other one's text
    /// (``NoteCopy/overruled``).
    ///
    /// The first step prepares a record, the second one is repeated for as long as others are faster.
    public func save() async throws {
        guard copy.isUnsaved else { return }
        if copy.systemFields == nil { try await load() }
        // The note in the cloud may be the later one.
        guard copy.isUnsaved, let modified = copy.modifiedMilliseconds else { return }
        let record = copy.systemFields.flatMap(\.record) ?? newRecord
        let upload = try file.writeUpload(copy.text)
        // Removed now or with the next one; it is the note's own text, beside the note.
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

    /// The service's record of a conflict; one that came without the text's file is fetched once more.
    private func withText(_ record: CKRecord) async throws -> CKRecord {
        if (record["text"] as? CKAsset)?.fileURL != nil { return record }
        return try await database.loadRecord(name: Self.recordName)
    }

    /// The service has it: what was typed meanwhile is still to be sent.
    private func confirm(_ saved: CKRecord) throws {
        var next = copy
        next.systemFields = saved.systemFields
        next.wasRemoved = false
        let modified = (saved["modified"] as? Date)?.milliseconds
        if modified == copy.modifiedMilliseconds { next.isUnsaved = false }
        try keep(next)
    }
}
