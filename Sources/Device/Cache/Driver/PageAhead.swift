import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// What one page of a zone's changes is asked for with.
struct PageQuestion: Hashable, Sendable {
    var zone: ZoneID
    var token: String?
    /// Up to which version this device has the zone's history.
    var lastIntactVersion: Int64?
    var knownTags: [String]
    /// Records of the page; nil leaves it to the service.
    var limit: Int?

    /// The question for the page that follows.
    func following(_ page: ZonePage) -> PageQuestion {
        var next = self
        next.token = page.token
        return next
    }

    /// Whether the same is asked, be the page larger or smaller.
    func isSame(as other: PageQuestion) -> Bool {
        var same = other
        same.limit = limit
        return self == same
    }
}

/// A page that is asked for while those before it are written: the network and the file are busy at once. When it
/// is there the one after it is asked for, as long as there is room for both.
///
/// It is an answer to a question that comes later, early, and nothing else: whatever the session does in between, be
/// it a pause, makes it void. Its failure is that of the operation that would have asked.
final class PageAhead: Sendable {
    typealias Fetch = @Sendable (PageQuestion) async throws -> ZonePage

    private struct State {
        var answer: Result<ZonePage, any Error>?
        var sizeBytes = 0
        /// For this page and those after it.
        var roomBytes: Int
        var next: PageAhead?
        var task: Task<Void, Never>?
        var isDropped = false
    }

    let question: PageQuestion
    private let world: World
    private let fetch: Fetch
    private let state: Mutex<State>

    /// - Parameter roomBytes: for this page and those after it, which are asked for while some is left.
    init(
        _ question: PageQuestion, roomBytes: Int, in world: World, _ fetch: @escaping Fetch
    ) {
        self.question = question
        self.world = world
        self.fetch = fetch
        state = Mutex(State(roomBytes: roomBytes))
        let task = world.startTask("cache page ahead") { [self] in
            do {
                answered(.success(try await fetch(question)))
            } catch {
                answered(.failure(error))
            }
        }
        state.withLock { $0.task = task }
    }

    /// The page that came; nil as long as there is none. A failure waits for its turn.
    var pageThatCame: ZonePage? {
        guard case .success(let page) = state.withLock({ $0.answer }) else { return nil }
        return page
    }

    /// The page after this one, if it was asked for.
    var next: PageAhead? { state.withLock { $0.next } }

    /// How many records came, as far as they did.
    var recordCount: Int { (pageThatCame?.records.count ?? 0) + (next?.recordCount ?? 0) }

    func cancel() {
        let (task, next) = state.withLock { state in
            state.isDropped = true
            return (state.task, state.next)
        }
        task?.cancel()
        next?.cancel()
    }

    func page() async throws -> ZonePage {
        await withTaskCancellationHandler {
            await state.withLock { $0.task }?.value
        } onCancel: {
            cancel()
        }
        guard let answer = state.withLock({ $0.answer }) else { throw CancellationError() }
        return try answer.get()
    }

    /// The page after this one, which is taken: it is asked for now, if it was not, and has all the room.
    func following(roomBytes: Int) -> PageAhead? {
        let (next, isNew) = state.withLock { state in
            let isNew = state.next == nil
            askOn(&state, roomBytes: roomBytes)
            return (state.next, isNew)
        }
        if !isNew { next?.widen(roomBytes: roomBytes) }
        return next
    }

    private func answered(_ answer: Result<ZonePage, any Error>) {
        var sizeBytes = 0
        if case .success(let page) = answer { sizeBytes = page.sizeEstimateBytes }
        state.withLock { state in
            state.answer = answer
            state.sizeBytes = sizeBytes
            askOnWithRoom(&state)
        }
    }

    private func widen(roomBytes: Int) {
        state.withLock { state in
            state.roomBytes = roomBytes
            askOnWithRoom(&state)
        }
    }

    private func askOnWithRoom(_ state: inout State) {
        let left = state.roomBytes - state.sizeBytes
        if left > 0 { askOn(&state, roomBytes: left) }
    }

    private func askOn(_ state: inout State, roomBytes: Int) {
        guard state.next == nil, !state.isDropped, case .success(let page) = state.answer,
            page.moreComing
        else { return }
        state.next = PageAhead(
            question.following(page), roomBytes: roomBytes, in: world, fetch)
    }
}

extension SyncDriver {
    /// Forgets the pages that were asked for before their turn.
    func dropPageAhead() {
        pageAhead?.cancel()
        pageAhead = nil
    }

    /// What to ask a zone's next page with.
    ///
    /// Where all of the zone is fetched the page is a large one, as each has its cost whatever its size; our service
    /// gives 2,000 at the most.
    func question(_ zone: ZoneID, _ token: String?) throws -> PageQuestion {
        var limit = settings.recordsPerPage
        if limit == nil, !remote.isAppleService, try store.isRefetching(zone) {
            limit = fullPageSize.itemLimit
        }
        return PageQuestion(
            zone: zone, token: token, lastIntactVersion: try store.lastIntactVersion(of: zone),
            knownTags: try store.sentTags(of: zone), limit: limit)
    }

    /// A page, as long as what came by now: those that were asked for already, or one that is asked for now; and,
    /// where more is to come, asks on.
    func page(_ question: PageQuestion) async throws -> ZonePage {
        if pageAhead?.question.isSame(as: question) != true { dropPageAhead() }
        var last =
            pageAhead
            ?? PageAhead(question, roomBytes: settings.pageAheadBytes, in: world) { [remote] in
                try await remote.zoneChanges(
                    $0.zone, since: $0.token, deletionsAfter: $0.lastIntactVersion,
                    knowing: $0.knownTags, limit: $0.limit)
            }
        pageAhead = nil
        do {
            var page = try await last.page()
            fullPageSize.accepted(itemCount: page.records.count)
            while let next = last.next, let more = next.pageThatCame {
                fullPageSize.accepted(itemCount: more.records.count)
                page.append(more)
                last = next
            }
            pageAhead = last.following(roomBytes: settings.pageAheadBytes)
            return page
        } catch let failure as SyncFailure {
            noteLost(last.question, failure)
            throw failure
        }
    }

    /// A slow network may bring a smaller page in time; one that is not there says nothing of the size.
    private func noteLost(_ question: PageQuestion, _ failure: SyncFailure) {
        guard settings.recordsPerPage == nil, let limit = question.limit,
            limit > Self.smallestFullPage, failure.code != .networkUnavailable,
            RecoveryAction.forRequest(failure.code) == .awaitNetwork
        else { return }
        _ = fullPageSize.refused(itemCount: limit)
    }

    private static let smallestFullPage = 125
}
