import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// What the user does, online or not.
extension ShoppingStore {
    /// Creates a list.
    ///
    /// - Returns: the list's identifier.
    @discardableResult
    public func create(title: String) throws -> ListID {
        let listID = ListID(newID())
        let writer = writer(of: listID)
        let entry = writer.create(title: title, id: newID(), at: clock())
        let root = CKRecord(
            recordType: ShoppingRecord.shoppingListType,
            recordID: listID.rootID)
        root[ShoppingRecord.titleField] = title
        try save([root, entry.record(in: listID)], [entry], of: listID)
        listsByID[listID] = KnownList(
            journal: Journal(listID: listID.name, entries: [entry]), rootTitle: title,
            isNotified: true)
        _ = list(listID)
        return listID
    }

    /// Does something to a list: all entries are saved in one transaction, or none.
    ///
    /// - Returns: the entries that were made.
    /// - Throws: ``UnknownList``, or what the cache throws when the file cannot be written.
    @discardableResult
    public func perform(_ actions: [ShoppingAction], in listID: ListID) throws -> [JournalEntry] {
        var known = try knownList(listID)
        let writer = writer(of: listID)
        var entries: [JournalEntry] = []
        var title: String?
        for action in actions {
            let time = known.journal.editTime(nowMilliseconds: clock())
            // Made before any is inserted, so that the journal is never copied.
            let made = writer.entries(for: action, in: known.journal, at: time, newID: newID)
            for entry in made { known.journal.insert(entry) }
            entries += made
            if case .renameList(let newTitle) = action { title = newTitle }
        }
        var records = entries.map { $0.record(in: listID) }
        // A root record that has not arrived yet is not created again: it would conflict with itself.
        if let title, let root = try cache.record(for: listID.rootID, in: listID.scope) {
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

    /// A list to change. One that was just deleted is not recreated by an action on it here.
    func knownList(_ listID: ListID) throws -> KnownList {
        guard let known = listsByID[listID],
            try cache.zoneIDs(in: listID.scope).contains(listID.zoneID)
        else { throw UnknownList(listID: listID) }
        return known
    }

    /// Makes the entries of this person on this device.
    func writer(of listID: ListID) -> ListJournalWriter {
        ListJournalWriter(listID: listID.name, device: device, deviceID: deviceID, author: author)
    }

    private func save(
        _ records: [CKRecord], _ entries: [JournalEntry], of listID: ListID
    ) throws {
        try cache.write { transaction in
            try transaction.save(records, in: listID.scope)
            try activity.keep(entries, of: listID.description, in: transaction.database)
        }
    }

    /// The list is not on this device.
    public struct UnknownList: Error, CustomStringConvertible {
        public let listID: ListID
        public var description: String { "This list is not on this device; sync first." }
    }
}
