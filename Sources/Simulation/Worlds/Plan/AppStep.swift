/// A step in which an app does more than edit one record.
enum AppStep: Hashable, Sendable {
    /// Records are edited, or created by the device that makes them, and one is deleted, in a single transaction;
    /// `isOwn` says whether it is one of the app's own (`CloudCache.write`).
    case saveTogether(device: Int, records: [Int], field: Int, deleting: Int?, isOwn: Bool)
    /// A list and its items are created in a single transaction, or all that are here are edited in one.
    case saveList(device: Int, list: Int, field: Int)
    /// The device that made a list deletes it with its items, in a single transaction.
    case deleteList(device: Int, list: Int)
    /// A user creates a notebook: a record, pages that have it as their parent, and a record that is none of them.
    case makeNotebook(device: Int, notebook: Int)
    /// Its owner shares it with everyone who has the link.
    case shareNotebook(device: Int, notebook: Int)
    /// Another user joins the share.
    case joinNotebook(device: Int, notebook: Int)
    case leaveNotebook(device: Int, notebook: Int)
    /// Its owner ends the share.
    case stopSharing(device: Int, notebook: Int)
    /// A user opens the link of the zone that is shared from the beginning: its owner, or a user who is in the share.
    case openLink(device: Int)
    case editPage(device: Int, notebook: Int, page: String)
    /// The owner takes a page out of the notebook.
    case movePage(device: Int, notebook: Int, page: String)
    case deletePage(device: Int, notebook: Int, page: String)
    /// Records are saved and deleted with the client, next to the cache, in one request.
    case saveDirectly(device: Int, isAtomic: Bool, isStale: Bool)
    /// One of these records is edited with the cache.
    case editDirect(device: Int, record: String)
}
