/// Makes the entries of one person on one device in one list; identifiers and times are arguments.
public struct ListJournalWriter: Hashable, Sendable {
    public let listID: String
    public let device: String
    public let deviceID: String?
    public let author: String
    public let appVersion: Int64

    public init(
        listID: String, device: String, deviceID: String? = nil, author: String,
        appVersion: Int64 = JournalEntry.currentAppVersion
    ) {
        self.listID = listID
        self.device = device
        self.deviceID = deviceID
        self.author = author
        self.appVersion = appVersion
    }

    /// Creates the list with a title.
    public func create(title: String, id: String, at editTimeMilliseconds: Int64) -> JournalEntry {
        entry(.create, value: title, id: id, at: editTimeMilliseconds)
    }

    /// Adds an item after another one; nil is the list's start.
    public func add(
        _ name: String, itemID: String, after afterItemID: String?, id: String,
        at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(
            .add, itemID: itemID, value: name, after: afterItemID, id: id,
            at: editTimeMilliseconds)
    }

    /// Adds many items one after the other, as a paste or a copy from another list does.
    ///
    /// - Parameters:
    ///   - afterItemID: the item the first one follows; nil is the list's start.
    ///   - editTimeMilliseconds: the first entry's time; each further one is a millisecond later.
    ///   - newID: gives a fresh identifier, called twice for each name (item, then entry), once more for a number.
    public func addAll(
        _ names: [String], after afterItemID: String?, at editTimeMilliseconds: Int64,
        newID: () -> String
    ) -> [JournalEntry] {
        var after = afterItemID
        var time = editTimeMilliseconds
        return names.flatMap { name in
            let itemID = newID()
            let entries = addAgain(itemID, name, after: after, at: time, newID: newID)
            after = itemID
            time += Int64(entries.count)
            return entries
        }
    }

    /// Adds one item, with its number if the text has one.
    func addAgain(
        _ itemID: String, _ text: String, after afterItemID: String?,
        at editTimeMilliseconds: Int64, newID: () -> String
    ) -> [JournalEntry] {
        let split = Quantity.split(text)
        let added = add(
            split?.name ?? text, itemID: itemID, after: afterItemID, id: newID(),
            at: editTimeMilliseconds)
        guard let number = split?.quantity else { return [added] }
        return [added, quantity(itemID, number, id: newID(), at: editTimeMilliseconds + 1)]
    }

    /// Sets how many of an item.
    public func quantity(
        _ itemID: String, _ number: Int, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(
            .quantity, itemID: itemID, value: String(number), id: id, at: editTimeMilliseconds)
    }

    /// Marks an item as bought.
    public func tick(_ itemID: String, id: String, at editTimeMilliseconds: Int64) -> JournalEntry {
        entry(.tick, itemID: itemID, id: id, at: editTimeMilliseconds)
    }

    /// Removes an item's mark.
    ///
    /// - Parameters:
    ///   - name: the item's name, so that it is restored even where other devices have compacted it.
    ///   - afterItemID: the item that it then follows.
    public func untick(
        _ itemID: String, name: String? = nil, after afterItemID: String? = nil, id: String,
        at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(
            .untick, itemID: itemID, value: name, after: afterItemID, id: id,
            at: editTimeMilliseconds)
    }

    /// Removes an item.
    public func remove(
        _ itemID: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.remove, itemID: itemID, id: id, at: editTimeMilliseconds)
    }

    /// Renames an item.
    public func rename(
        _ itemID: String, to name: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.rename, itemID: itemID, value: name, id: id, at: editTimeMilliseconds)
    }

    /// Renames the list.
    public func renameList(
        to title: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.rename, value: title, id: id, at: editTimeMilliseconds)
    }

    /// Gives the list another colour.
    public func recolour(
        to colour: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.recolour, value: colour, id: id, at: editTimeMilliseconds)
    }

    /// Moves an item after another one; nil is the list's start.
    public func reorder(
        _ itemID: String, after afterItemID: String?, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.reorder, itemID: itemID, after: afterItemID, id: id, at: editTimeMilliseconds)
    }

    /// Sets an item's note; an empty text removes it.
    public func note(
        _ itemID: String, _ text: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.note, itemID: itemID, value: text, id: id, at: editTimeMilliseconds)
    }

    /// Sorts an item under a category, or under its aisle with an empty name.
    public func category(
        _ itemID: String, _ name: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.category, itemID: itemID, value: name, id: id, at: editTimeMilliseconds)
    }

    /// Gives an item the picture in the entry's record.
    public func picture(
        _ itemID: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.picture, itemID: itemID, id: id, at: editTimeMilliseconds)
    }

    /// Removes an item's picture.
    public func noPicture(
        _ itemID: String, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        entry(.picture, itemID: itemID, value: "", id: id, at: editTimeMilliseconds)
    }

    private func entry(
        _ action: JournalEntry.Action, itemID: String? = nil, value: String? = nil,
        after afterItemID: String? = nil, id: String, at editTimeMilliseconds: Int64
    ) -> JournalEntry {
        JournalEntry(
            id: id, listID: listID, itemID: itemID, action: action, value: value,
            afterItemID: afterItemID, editTimeMilliseconds: editTimeMilliseconds, device: device,
            deviceID: deviceID, author: author, appVersion: appVersion)
    }
}
