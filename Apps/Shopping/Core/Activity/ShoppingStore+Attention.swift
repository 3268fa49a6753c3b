import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
    import StratusSync
#else
    import CloudKit
#endif

/// A change that the service refused, in words, to be retried or discarded.
public struct RefusedChange: Sendable, Identifiable {
    let item: AttentionItem
    /// The list that it belongs to; nil for what belongs to none.
    public let listID: ListID?
    /// What was to be done, and why it was refused.
    public let sentence: String

    public var id: String { item.recordID.zoneID.zoneName + "/" + item.recordID.recordName }
}

/// What needs the user's decision, and what they have chosen.
extension ShoppingStore {
    /// Changes that the service refused; they are kept on this device and not sent again by themselves.
    public func refusedChanges() async throws -> [RefusedChange] {
        try await cache.attentionItems().map { item in
            let listID = ListID(item.recordID.zoneID)
            let entry = listID.flatMap { listsByID[$0] }?.journal
                .entry(id: item.recordID.recordName)
            let what = entry.map { entry in
                let name = entry.itemID.flatMap { id in
                    listID.flatMap { list($0) }?.items.first { $0.id == id }?.name
                }
                return "\(entry.action.rawValue) \(name ?? entry.value ?? "")"
            }
            return RefusedChange(
                item: item, listID: listID,
                sentence: ListText.oneLine(
                    "\(what ?? item.recordID.recordName): \(item.failure.message)"))
        }
    }

    /// Pending changes in words, oldest first, up to a limit.
    public func pendingSentences(limit: Int = 100) throws -> [String] {
        var sentences: [String] = []
        for scope in [CKDatabase.Scope.private, .shared] {
            for id in try cache.pendingRecordIDs(in: scope, limit: limit) {
                let listID = ListID(id.zoneID)
                let known = listID.flatMap { self.list($0) }
                guard let listID, let entry = listsByID[listID]?.journal.entry(id: id.recordName)
                else {
                    sentences.append("the list \(known?.title ?? id.recordName) itself")
                    continue
                }
                let name = entry.itemID.flatMap { itemID in
                    known?.items.first { $0.id == itemID }?.name
                }
                sentences.append(
                    "\(entry.action.rawValue) \(name ?? entry.value ?? "") in \(known?.title ?? "")"
                )
            }
        }
        return sentences.prefix(limit).map { ListText.oneLine($0) }
    }

    /// Sends refused changes again.
    public func retry(_ changes: [RefusedChange]) async throws {
        try await cache.retryAttentionItems(changes.map(\.item))
    }

    /// Discards refused changes: they are removed from this device too.
    public func giveUp(_ changes: [RefusedChange]) async throws {
        try await cache.discardAttentionItems(changes.map(\.item))
        absorbUnseen()
    }

    // MARK: Errors in the activity

    /// Stores an error in the activity of its list, or of all lists if it concerns none: each sentence once a day, as a
    /// lasting error is reported repeatedly.
    func keepTrouble(of change: ShoppingChange) {
        guard case .trouble(let sentence) = change.kind else { return }
        let now = clock()
        let list = change.listID?.description ?? ActivityLog.everyList
        // If the file cannot be written, the error is missing in the activity view; the person has
        // just seen it as a notification.
        try? activity.keep(
            ActivityEvent(
                id: "trouble \(now / 86_400_000) \(sentence)", milliseconds: now,
                action: .trouble, itemID: nil, value: sentence, device: "", author: ""),
            of: list)
    }

    // MARK: What the user chose

    /// Which changes of others become notifications on this device.
    public func notificationChoice() throws -> NotificationChoice {
        NotificationChoice(text: try activity.note("notifications") ?? "")
    }

    /// The notification for a change; nil for one that the person did not choose, or that their own devices
    /// made.
    public func notification(of change: ShoppingChange) -> String? {
        guard change.origin.isOfOtherPerson else { return nil }
        // A choice that cannot be read counts as none, so there is no notification.
        return (try? notificationChoice())?.text(for: change)
    }

    public func choose(_ choice: NotificationChoice) throws {
        try activity.setNote("notifications", choice.text)
    }

    /// A list's screen as it was left, also after a restart: in shopping mode the rows stay, and new items are notices.
    public func screen(of listID: ListID) throws -> ListScreen? {
        guard let list = list(listID) else { return nil }
        guard let shown = try activity.note("shopping \(listID)") else {
            return ListScreen(list: list, deviceID: deviceID)
        }
        return ListScreen(
            list: list, deviceID: deviceID,
            shoppingWith: shown.split(separator: "\n").map(String.init))
    }

    /// Keeps what a list's screen shows, for the next start.
    public func keep(_ screen: ListScreen, of listID: ListID) throws {
        let shown = screen.mode == .shopping ? screen.rows.map(\.id).joined(separator: "\n") : nil
        guard try activity.note("shopping \(listID)") != shown else { return }
        try activity.setNote("shopping \(listID)", shown)
    }
}
