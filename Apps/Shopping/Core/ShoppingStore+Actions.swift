import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// What a person does, online or not.
extension ShoppingStore {
    /// Creates a list.
    ///
    /// - Returns: the list's identifier.
    @discardableResult
    public func create(title: String) throws -> String {
        let listID = newID()
        let writer = JournalWriter(listID: listID, device: device, author: author)
        let entry = writer.create(title: title, id: newID(), at: clock())
        let root = CKRecord(
            recordType: ShoppingRecord.shoppingListType,
            recordID: ShoppingStore.rootID(listID: listID))
        root[ShoppingRecord.titleField] = title
        try save([root, entry.record()], [entry], of: listID)
        listsByID[listID] = KnownList(
            journal: Journal(listID: listID, entries: [entry]), rootTitle: title, isNotified: true)
        _ = list(listID)
        return listID
    }

    /// Does something to a list: all entries are saved in one transaction, or none.
    ///
    /// - Returns: the entries that were made.
    /// - Throws: ``UnknownList``, or what the cache throws when the file cannot be written.
    @discardableResult
    public func perform(_ actions: [ShoppingAction], in listID: String) throws -> [JournalEntry] {
        // A list that was just deleted elsewhere is not made anew by what is done to it here.
        guard var known = listsByID[listID],
            try cache.zoneIDs().contains(ShoppingStore.zoneID(listID: listID))
        else { throw UnknownList(listID: listID) }
        let writer = JournalWriter(listID: listID, device: device, author: author)
        var entries: [JournalEntry] = []
        var title: String?
        for action in actions {
            let time = known.journal.editTime(nowMilliseconds: clock())
            let list = known.journal
            for entry in writer.entries(for: action, in: list, at: time, newID: newID) {
                known.journal.insert(entry)
                entries.append(entry)
            }
            if case .renameList(let newTitle) = action { title = newTitle }
        }
        var records = entries.map { $0.record() }
        // A root record that has not arrived yet is not made anew: it would conflict with itself.
        if let title, let root = try cache.record(for: ShoppingStore.rootID(listID: listID)) {
            root[ShoppingRecord.titleField] = title
            records.append(root)
            known.rootTitle = title
        }
        try save(records, entries, of: listID)
        known.rebuilt = nil
        listsByID[listID] = known
        _ = list(listID)
        return entries
    }

    private func save(
        _ records: [CKRecord], _ entries: [JournalEntry], of listID: String
    ) throws {
        try cache.write { transaction in
            try transaction.save(records)
            try activity.keep(entries, of: listID, in: transaction.database)
        }
    }

    /// The list is not on this device.
    public struct UnknownList: Error, CustomStringConvertible {
        public let listID: String
        public var description: String { "This list is not on this device; sync first." }
    }
}
