import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

extension ShoppingStore {
    /// Which records this app writes, and how those of its older formats become today's.
    ///
    /// Format 2 gave each entry the list's root as parent, because a record without a parent is not in the root's
    /// share. An entry of format 1 is saved again with a parent. Entries of a newer app are read as far as possible,
    /// and the user is asked to update.
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
