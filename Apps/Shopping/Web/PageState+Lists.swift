import ShoppingCore
import StratusCache

// Converts the core's values to those that the page shows, without a store or a clock.

extension PageState.ListLine {
    init(_ list: ShoppingList, isShared: Bool) {
        id = list.id.description
        title = list.title.isEmpty ? "Untitled list" : ListText.oneLine(list.title)
        toBuyCount = list.unticked.count
        isOwn = list.id.isOwn
        self.isShared = isShared
    }
}

extension PageState.OpenList {
    /// - Parameter marks: who changed an item last, by the item's identifier.
    init(
        _ screen: ListScreen, sharing: ListSharing?, marks: [String: String],
        catalogue: Catalogue = .standard
    ) {
        let list = screen.list
        id = list.id.description
        title = list.title.isEmpty ? "Untitled list" : ListText.oneLine(list.title)
        colour = list.colour
        isOwn = list.id.isOwn
        isShopping = screen.mode == .shopping
        toBuyCount = list.unticked.count
        boughtCount = list.items.count - list.unticked.count
        sections = catalogue.sections(of: screen.rows).map { section in
            PageState.Section(
                name: section.aisle.name,
                aisle: catalogue.aisles.indices.contains(section.aisle.position)
                    ? section.aisle.position : nil,
                rows: section.rows.map { PageState.Row($0, changedBy: marks[$0.id]) })
        }
        notices = screen.notices.map {
            PageState.Notice(
                id: $0.id, name: ListText.oneLine($0.text), addedBy: ListText.oneLine($0.addedBy))
        }
        self.sharing = sharing.map { PageState.Sharing($0) }
        duplicates = list.duplicates.map { $0.map { ListText.oneLine($0.name) } }
    }
}

extension PageState.Row {
    init(_ row: ListScreen.Row, changedBy: String?) {
        id = row.id
        name = row.item.name.isEmpty ? "(no name)" : ListText.oneLine(row.item.name)
        quantity = row.item.quantity
        note = row.item.note.flatMap { $0.isEmpty ? nil : ListText.oneLine($0) }
        category = row.item.category.map { ListText.oneLine($0) }
        picture = row.item.pictureEntryID
        isTicked = row.item.isTicked
        isRemoved = row.isRemoved
        addedBy = ListText.oneLine(row.item.addedBy)
        tickedBy = row.item.tickedBy.map { ListText.oneLine($0) }
        self.changedBy = changedBy.map { ListText.oneLine($0) }
    }
}

extension PageState.Sharing {
    init(_ sharing: ListSharing) {
        link = sharing.link?.absoluteString
        switch sharing.linkAccess {
        case .invitedOnly: access = .invited
        case .read: access = .read
        case .write: access = .write
        }
        takesRequests = sharing.takesRequests
        people = sharing.people.filter { $0.standing != .gone }.map { person in
            PageState.Person(
                id: person.id, name: ListText.oneLine(person.name),
                role: person.isOwner ? .owner : person.mayWrite ? .writes : .reads,
                isMe: person.isMe, isInvited: person.standing == .invited)
        }
        requests = sharing.requests.map { ListText.oneLine($0) }
    }
}

extension PageState.Sync {
    /// - Parameters:
    ///   - isOnline: whether the user wants to sync.
    ///   - localOnlyReason: why this device shares nothing; nil when it does.
    init(
        _ status: CacheStatus, isOnline: Bool, localOnlyReason: String?, pending: [String],
        refused: [String]
    ) {
        if let localOnlyReason {
            kind = .local
            line = localOnlyReason
        } else if status.haltReason != nil || status.isStorageFull || status.isQuotaExceeded {
            kind = .halted
            line = status.line
        } else if !isOnline {
            kind = .offline
            line = "You are offline. " + Self.waiting(status.pendingCount)
        } else if status.attentionCount > 0 {
            kind = .refused
            line = status.line
        } else if !status.isNetworkReachable || status.retryCount > 0 {
            kind = .unreachable
            line = "The service cannot be reached. " + Self.waiting(status.pendingCount)
        } else {
            kind =
                status.pendingCount > 0 || status.operation?.activity == .sending
                ? .syncing : .synced
            line = kind == .synced ? "All changes are synced." : status.line
        }
        pendingCount = localOnlyReason == nil ? status.pendingCount : 0
        self.pending = localOnlyReason == nil ? pending : []
        self.refused = refused
    }

    private static func waiting(_ count: Int) -> String {
        switch count {
        case 0: "Nothing waits to be sent."
        case 1: "1 change waits on this device."
        default: "\(count) changes wait on this device."
        }
    }
}
