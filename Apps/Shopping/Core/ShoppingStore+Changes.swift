import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// Incoming changes: journals grow by the entries that changed, without reading everything again.
extension ShoppingStore {
    /// A list's records are read all together if at least this many of them changed, and this share of all.
    private static let (recordsReadSingly, shareReadSingly) = (200, 0.25)

    /// Takes records that changed on this device; those this device wrote itself are known already.
    func absorb(_ ids: Set<CKRecord.ID>) {
        let ids = ids.union(unreadIDs)
        unreadIDs = []
        for (zoneID, ids) in Dictionary(grouping: ids, by: \.zoneID) {
            guard let listID = ListID(zoneID) else { continue }
            do {
                let records = try records(ids, of: listID)
                let gone = Set(ids).subtracting(records.lazy.map(\.recordID))
                if !gone.isEmpty {
                    // If the whole list is gone, its own event reports that.
                    guard try cache.zoneIDs(in: listID.scope).contains(zoneID) else { continue }
                    forget(gone, of: listID)
                }
                try take(records, of: listID)
            } catch {
                // Shown to the person; the records are read again with the next changes.
                unreadIDs.formUnion(ids)
                notify(.init(.trouble("The lists' file cannot be read: \(error)"), listID: listID))
            }
        }
    }

    /// Those of the records that are on this device; may include others of their list.
    func records(_ ids: [CKRecord.ID], of listID: ListID) throws -> [CKRecord] {
        let count = Double(listsByID[listID]?.journal.count ?? 0)
        return ids.count < max(Self.recordsReadSingly, Int(count * Self.shareReadSingly))
            ? try ids.compactMap { try cache.record(for: $0, in: listID.scope) }
            : try cache.records(inZoneWith: listID.zoneID, in: listID.scope)
    }

    func readWholeList(_ listID: ListID) throws {
        let records = try cache.records(inZoneWith: listID.zoneID, in: listID.scope)
        guard !records.isEmpty else { return }
        var known = KnownList(journal: Journal(listID: listID.name))
        known.insert(records)
        known.rebuilt = known.journal.list()
        known.isNotified = known.isVisible
        listsByID[listID] = known
        try activity.keep(known.journal.history, of: listID.description)
        try notePeople(of: listID)
    }

    /// Removes entries that compaction has deleted from a journal.
    private func forget(_ ids: Set<CKRecord.ID>, of listID: ListID) {
        if let share = listsByID[listID]?.share, ids.contains(share.recordID) {
            listsByID[listID]?.share = nil
        }
        let names = Set(ids.map(\.recordName))
        if listsByID[listID]?.journal.remove(ids: names) == true {
            listsByID[listID]?.rebuilt = nil
            for name in names { listsByID[listID]?.arrivals[name] = nil }
        }
    }

    private func take(_ records: [CKRecord], of listID: ListID) throws {
        guard !records.isEmpty else { return }
        let before = list(listID)
        var known = listsByID[listID] ?? KnownList(journal: Journal(listID: listID.name))
        let (names, me) = (known.people, known.myName)
        let fresh = known.insert(records)
        if known.people != names || known.myName != me {
            // The entries arrived before their authors' names.
            known.journal = Journal(listID: listID.name)
            known.rebuilt = nil
            known.insert(try cache.records(inZoneWith: listID.zoneID, in: listID.scope))
        }
        if !fresh.isEmpty || known.rebuilt == nil { known.rebuilt = known.journal.list() }
        let isShareChanged = records.contains { $0 is CKShare }
        let isNew = !known.isNotified && known.isVisible
        if isNew { known.isNotified = true }
        listsByID[listID] = known
        try activity.keep(fresh, of: listID.description)
        defer {
            // If the file cannot be written now, the next change of the share reports these people
            // again, because the stored list is compared.
            if isShareChanged { try? notePeople(of: listID) }
        }
        if isNew {
            notify(ShoppingChange(.listAppeared, listID: listID, listTitle: known.title))
        } else if known.isNotified, let before, let after = list(listID) {
            notify(fresh, of: listID, before: before, after: after, title: known.title)
        }
    }

    private func notify(
        _ fresh: [JournalEntry], of listID: ListID, before: ShoppingList, after: ShoppingList,
        title: String
    ) {
        var namesByItemID: [String: String] = [:]
        for item in before.items { namesByItemID[item.id] = item.name }
        let lastNames = Dictionary(after.items.map { ($0.id, $0.name) }) { first, _ in first }
        let shown = Set(after.items.map(\.id))
        let cutoff = clock() - ShoppingLimits.shownBoughtMilliseconds
        for entry in fresh.sorted(by: { $0.precedes($1) }) {
            // An old change of an item that is no longer shown is only for the activity view.
            if let itemID = entry.itemID, entry.editTimeMilliseconds < cutoff,
                !shown.contains(itemID)
            {
                continue
            }
            guard let kind = ShoppingChange.Kind(entry, &namesByItemID, lastNames) else { continue }
            notify(
                ShoppingChange(
                    kind, listID: listID, itemID: entry.itemID, listTitle: title,
                    author: entry.author,
                    device: entry.device, origin: entry.origin))
        }
    }

    /// Announces what happened during a sync, as far as it concerns the user.
    func note(_ event: CacheEvent) async {
        switch event {
        case .zoneDeleted(let zoneID, _, _):
            guard let listID = ListID(zoneID), let known = listsByID.removeValue(forKey: listID)
            else { return }
            if listID.isOwn {
                notify(ShoppingChange(.listDisappeared, listID: listID, listTitle: known.title))
            } else {
                await notifyEnd(of: listID, known)
            }
        case .setAside(let item):
            notify(
                ShoppingChange(
                    .trouble(
                        "The service refuses a change; it is kept here, to be sent again or dropped. \(item.failure.message)"
                    ),
                    listID: ListID(item.recordID.zoneID)))
        case .quotaExceeded:
            notify(
                ShoppingChange(
                    .trouble(
                        "The account's storage at the service is full; changes wait on this device. Make room there."
                    )))
        case .storageFull:
            notify(
                ShoppingChange(
                    .trouble("This device is full; free some space, and syncing continues.")))
        case .halted(let reason):
            notify(ShoppingChange(.trouble(reason.summary)))
        case .zoneSetAside(let zoneID, let failure):
            let title = ListID(zoneID).flatMap { listsByID[$0]?.title } ?? zoneID.zoneName
            notify(
                ShoppingChange(
                    .trouble(
                        "The service refuses the list \(title); it is kept here. \(failure.message)"
                    ),
                    listID: ListID(zoneID)))
        case .recordsMissing(let records):
            // What was compacted while this device was offline is no longer in any list.
            guard !records.allSatisfy(isCompacted) else { return }
            notify(
                ShoppingChange(
                    .trouble("The service has lost changes of the lists; they are gone here too.")))
        case .sharesLost:
            notify(
                ShoppingChange(
                    .trouble(
                        "The service has lost who shares your lists with you; share them again.")))
        case .changesLost:
            notify(
                ShoppingChange(
                    .trouble("The service has lost changes of the lists; they are sent again.")))
        case .fileDamaged:
            notify(
                ShoppingChange(
                    .trouble("The file on this device was damaged; the lists are fetched again.")))
        case .newerRecords:
            notify(
                ShoppingChange(
                    .trouble("A newer app has written to the lists; update this one to see all.")))
        case .recordUnreadable(let recordID, let failure):
            notify(
                ShoppingChange(
                    .trouble("This app cannot read an entry of the lists. \(failure.message)"),
                    listID: ListID(recordID.zoneID)))
        case .editOverruled, .remoteEditOverruled, .editOfDeletedRecord, .reportsDropped:
            // Only a root record can be edited twice; its title comes from the journal.
            break
        }
    }

    func notify(_ change: ShoppingChange) {
        keepTrouble(of: change)
        for observer in observers.values { observer.yield(change) }
    }
}

extension ShoppingStore.KnownList {
    /// Takes records.
    ///
    /// - Returns: the entries that were not known.
    @discardableResult
    mutating func insert(_ records: [CKRecord]) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        if let share = records.lazy.compactMap({ $0 as? CKShare }).first {
            self.share = share
            myName = nil
            people = [:]
            for person in ListSharing(share).people {
                guard let userName = person.userName else { continue }
                people[userName] = person.name
                if person.isMe { myName = userName }
            }
        }
        for record in records {
            if var entry = JournalEntry(record) {
                // The author in an entry is only what its device claims. Entries are never changed by the app: one that
                // was changed is attributed to the user who changed it.
                let saver = record.lastModifiedUserRecordID ?? record.creatorUserRecordID
                if let saver = saver?.recordName {
                    if let name = people[saver] { entry.author = name }
                    entry.creatorName = isMine(saver) ? nil : saver
                }
                entries.append(entry)
            } else if record.recordType == ShoppingRecord.shoppingListType,
                record.recordID.recordName == journal.listID
            {
                rootTitle = ListText.shortened(record[ShoppingRecord.titleField] ?? "")
            }
        }
        return journal.insert(entries)
    }

    /// Whether a user is this device's user; a list that is not shared has no others.
    private func isMine(_ userName: String) -> Bool {
        myName.map { $0 == userName } ?? true || userName == CKCurrentUserDefaultName
    }
}

extension ShoppingChange.Kind {
    /// The entry in words; nil for one that is not announced.
    ///
    /// - Parameters:
    ///   - names: the items' names before the entry; updated.
    ///   - lastNames: the items' names after everything.
    fileprivate init?(
        _ entry: JournalEntry, _ names: inout [String: String], _ lastNames: [String: String]
    ) {
        let itemID = entry.itemID ?? ""
        let name = names[itemID] ?? lastNames[itemID] ?? ""
        switch (entry.action, entry.itemID) {
        case (.add, .some):
            names[itemID] = entry.value ?? ""
            self = .itemAdded(name: entry.value ?? "")
        case (.tick, .some): self = .itemTicked(name: name)
        case (.untick, .some): self = .itemUnticked(name: name)
        case (.remove, .some): self = .itemRemoved(name: name)
        case (.reorder, .some): self = .itemMoved(name: name)
        case (.rename, .some):
            let newName = entry.value ?? ""
            let last = lastNames[itemID] ?? newName
            // A rename that lost against one made here is announced with the name that stays.
            let isOverruled = last != newName && names[itemID] == last
            self = .itemRenamed(
                from: name, to: newName, laterName: isOverruled ? last : nil)
            if !isOverruled { names[itemID] = newName }
        case (.note, .some): self = .itemNoted(name: name, note: entry.value ?? "")
        case (.category, .some): self = .itemSorted(name: name, category: entry.value ?? "")
        case (.picture, .some):
            self = entry.value == "" ? .itemUnpictured(name: name) : .itemPictured(name: name)
        case (.quantity, .some):
            self = .itemCounted(name: name, quantity: Quantity.number(of: entry.value) ?? 1)
        case (.rename, nil): self = .listRenamed(title: entry.value ?? "")
        case (.recolour, nil): self = .listRecoloured(colour: entry.value ?? "")
        default: return nil
        }
    }
}
