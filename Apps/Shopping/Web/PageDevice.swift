import Foundation
import ShoppingCore
import StratusRuntime

/// One person's device behind a page: the open list's screen, and what every page is shown.
///
/// All pages of a device show the same. They get whole states, the newest one, and ask for actions.
package actor PageDevice {
    /// The most announcements in a state.
    private static let shownAnnouncements = 5

    let store: ShoppingStore
    let name: String
    let person: String
    /// Why this device shares nothing; nil when it does.
    let localOnlyReason: String?
    let catalogue = Catalogue.standard
    private let world: World
    /// Remembers which list is open, for the next start.
    private let remember: @Sendable (ListID?) -> Void

    private(set) var openListID: ListID?
    private(set) var screen: ListScreen?
    var isOnline: Bool
    /// Who changed an item last, while the user has done nothing since.
    private var marks: [String: String] = [:]
    private var announcements: [PageState.Announcement] = []
    private var announcementCount = 0
    private var pages: [Int: AsyncStream<PageState>.Continuation] = [:]
    private var pageCount = 0
    private var shown: PageState?
    private var isPublishing = false
    private var isStale = false
    /// Calls that wait for the publishing in progress, which shows their state.
    private var awaitingPages: [CheckedContinuation<Void, Never>] = []
    private var isClosed = false
    private var watching: [Task<Void, Never>] = []

    /// - Parameters:
    ///   - name: the device's name, as the store was opened with it.
    ///   - person: the user's name, as the store was opened with it.
    package init(
        store: ShoppingStore, name: String, person: String, localOnlyReason: String? = nil,
        isOnline: Bool = true, world: World = .live,
        remember: @escaping @Sendable (ListID?) -> Void = { _ in }
    ) {
        self.store = store
        self.name = name
        self.person = person
        self.localOnlyReason = localOnlyReason
        self.isOnline = isOnline
        self.world = world
        self.remember = remember
    }

    /// Opens the list that was open, or the only one, and starts to sync.
    package func begin(opening listID: ListID? = nil) async {
        let (changes, statuses) = (await store.changes(), await store.cache.statuses())
        watching = [
            world.startTask("page changes") {
                for await change in changes { await self.take(change) }
            },
            world.startTask("page status") {
                // Ends when the file is closed or fails; reading a list reports the error.
                do { for try await _ in statuses { await self.follow() } } catch { return }
            },
        ]
        if let listID, await store.list(listID) != nil {
            await open(listID)
        } else {
            await openOnlyList()
        }
        if localOnlyReason == nil {
            if !isOnline { await store.setOnline(false) }
            await store.start()
        }
    }

    /// Ends what pages watch, and closes the store.
    package func close() async throws {
        isClosed = true
        for page in pages.values { page.finish() }
        pages = [:]
        try await store.close()
        for task in watching { await task.value }
    }

    // MARK: What pages watch

    /// The current state and each later one; a slow page gets only the newest.
    package func states() async -> AsyncStream<PageState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PageState.self, bufferingPolicy: .bufferingNewest(1))
        await publish()
        guard !isClosed else {
            continuation.finish()
            return stream
        }
        if let shown { continuation.yield(shown) }
        pageCount += 1
        let number = pageCount
        pages[number] = continuation
        let world = world
        continuation.onTermination = { _ in
            _ = world.startTask("page gone") { await self.forgetPage(number) }
        }
        return stream
    }

    private func forgetPage(_ number: Int) { pages[number] = nil }

    /// Pages that watch now.
    package var watchingPages: Int { pages.count }

    /// Shows the newest state to every page; one at a time, so that no older one comes last.
    func publish() async {
        isStale = true
        if isPublishing {
            await withCheckedContinuation { awaitingPages.append($0) }
            return
        }
        isPublishing = true
        defer {
            isPublishing = false
            for waiter in awaitingPages { waiter.resume() }
            awaitingPages = []
        }
        while isStale, !isClosed {
            isStale = false
            guard let state = await state(), state != shown else { continue }
            shown = state
            for page in pages.values { page.yield(state) }
        }
    }

    private func state() async -> PageState? {
        // If the file cannot be read, the next action reports that.
        guard let status = try? await store.status() else { return nil }
        var lists: [PageState.ListLine] = []
        for list in await store.lists {
            let isShared = await store.sharing(of: list.id) != nil
            lists.append(PageState.ListLine(list, isShared: isShared))
        }
        // The same file: the count is shown in any case.
        let pending = status.pendingCount > 0 ? (try? await store.pendingSentences()) ?? [] : []
        // The same.
        let refused = status.attentionCount > 0 ? (try? await store.refusedChanges()) ?? [] : []
        let sharing: ListSharing? =
            if let openListID { await store.sharing(of: openListID) } else { nil }
        return PageState(
            device: ListText.oneLine(name), person: ListText.oneLine(person), lists: lists,
            open: screen.map { PageState.OpenList($0, sharing: sharing, marks: marks) },
            sync: PageState.Sync(
                status, isOnline: isOnline, localOnlyReason: localOnlyReason, pending: pending,
                refused: refused.map(\.sentence)),
            announcements: announcements, needsNewerApp: await store.needsNewerApp)
    }

    // MARK: What others did

    private func take(_ change: ShoppingChange) async {
        if change.listID == openListID, openListID != nil {
            if change.endsList {
                closeList()
            } else {
                await refresh()
                if let itemID = change.itemID { marks[itemID] = mark(of: change) }
            }
        } else if openListID == nil, change.kind == .listAppeared {
            await openOnlyList()
        }
        // What was done here is seen.
        if ![.left, .deletedHere].contains(change.kind) { announce(change) }
        await publish()
    }

    private func mark(of change: ShoppingChange) -> String {
        change.origin.isOfOtherPerson && !change.author.isEmpty ? change.author : change.device
    }

    private func announce(_ change: ShoppingChange) {
        var sentence = change.sentence
        if !change.namesItsList, change.listID != openListID {
            sentence += " in \(ListText.oneLine(change.listTitle))"
        }
        announcementCount += 1
        announcements.append(
            PageState.Announcement(
                number: announcementCount,
                sentence: sentence.prefix(1).uppercased() + sentence.dropFirst()))
        announcements = announcements.suffix(Self.shownAnnouncements)
    }

    /// Called after a step of syncing: a share may change without another event.
    private func follow() async {
        await store.absorbUnseen()
        await refresh()
        await publish()
    }

    // MARK: The open list

    func open(_ listID: ListID) async {
        guard let list = await store.list(listID) else { return }
        openListID = listID
        marks = [:]
        // A file that cannot be read opens as new.
        screen =
            (try? await store.screen(of: listID))
            ?? ListScreen(list: list, deviceID: store.deviceID)
        remember(listID)
    }

    func openOnlyList() async {
        let lists = await store.lists
        if openListID == nil, lists.count == 1, let only = lists.first { await open(only.id) }
    }

    func closeList() {
        openListID = nil
        screen = nil
        marks = [:]
        remember(nil)
    }

    /// Brings the screen up to the newest list.
    func refresh() async {
        guard let openListID else { return }
        guard let list = await store.list(openListID) else { return }
        await changeScreen { $0.receive(list) }
    }

    /// Changes the screen and keeps the mode and the notices for the next start.
    func changeScreen(_ change: (inout ListScreen) -> Void) async {
        guard var changed = screen, let openListID else { return }
        change(&changed)
        guard changed != screen else { return }
        screen = changed
        // Only a convenience is lost.
        try? await store.keep(changed, of: openListID)
    }

    func forgetMarks() { marks = [:] }

    func temporaryFile() -> URL {
        FileManager.default.temporaryDirectory
            .appendingPathComponent("shopping-" + world.makeUUID().uuidString)
    }
}
