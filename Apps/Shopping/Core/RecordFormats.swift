import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

extension ShoppingStore {
    /// Which records this app writes, and how those of its older formats become today's.
    ///
    /// Format 2 gave each entry the list's root as parent, for what has no parent is not in the share of the root. An
    /// entry of format 1 is saved again with one. What a newer app wrote is read as far as it goes, and the person is
    /// told to update.
    static var versions: RecordVersions {
        var versions = RecordVersions()
        versions.newerRecords = .goOn
        versions.declare(
            ShoppingRecord.journalEntryType, key: JournalEntry.FieldName.appVersion,
            current: JournalEntry.currentAppVersion)
        versions.migrate(ShoppingRecord.journalEntryType, to: 2) { record in
            guard let listID = ListID(record.recordID.zoneID) else { return record }
            record.setParent(listID.rootID)
            return record
        }
        return versions
    }
}
