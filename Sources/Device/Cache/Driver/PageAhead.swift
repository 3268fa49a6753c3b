import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// The parameters of a request for one page of a zone's changes.
struct PageQuestion: Hashable, Sendable {
    var zone: ZoneID
    var token: String?
    /// The version up to which this device has the zone's history.
    var lastIntactVersion: Int64?
    var knownTags: [String]
    /// The number of records in the page; nil lets the service decide.
    var limit: Int?

    /// The request for the next page.
    func following(_ page: ZonePage) -> PageQuestion {
        var next = self
        next.token = page.token
        return next
    }

    /// Whether both request the same changes, regardless of the page size.
    func isSame(as other: PageQuestion) -> Bool {
        var same = other
        same.limit = limit
        return self == same
    }
}

/// A page that is requested while those before it are written, so that the network and the file
/// work at the same time. When it has arrived the next one is requested, as long as there is room
/// for both.
///
/// It is only an early answer to a later request: anything that the session does in between, even a
/// pause, discards it. Its error is thrown by the operation that would have made the request.
final class PageAhead: Sendable {
    typealias Fetch = @Sendable (PageQuestion) async throws -> ZonePage

    private struct State {
        var answer: Result<ZonePage, any Error>?
        var sizeBytes = 0
        /// The room for this page and those after it.
        var roomBytes: Int
        var next: PageAhead?
        var task: Task<Void, Never>?
        var isDropped = false
    }

    let question: PageQuestion
    private let world: World
    private let fetch: Fetch
    private let state: Mutex<State>

    /// - Parameter roomBytes: the room for this page and those after it, which are requested while
    ///   some is left.
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

    /// The page if it has arrived; nil otherwise. A failure is thrown when it is the page's turn.
    var pageThatCame: ZonePage? {
        guard case .success(let page) = state.withLock({ $0.answer }) else { return nil }
        return page
    }

    /// The page after this one, if it was requested.
    var next: PageAhead? { state.withLock { $0.next } }

    /// The number of records that have arrived so far.
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

    /// The page after this one, for when this one is used: it is requested now, unless it was before, and gets all the
    /// room.
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
    /// Discards the pages that were requested ahead.
    func dropPageAhead() {
        pageAhead?.cancel()
        pageAhead = nil
    }

    /// The request for a zone's next page.
    ///
    /// A full fetch uses large pages, because each page has a fixed cost; Stratus's service returns
    /// at most 2,000 records.
    func question(_ zone: ZoneID, _ token: String?) throws -> PageQuestion {
        var limit = settings.recordsPerPage
        if limit == nil, !remote.isAppleService, try store.isRefetching(zone) {
            limit = fullPageSize.itemLimit
        }
        return PageQuestion(
            zone: zone, token: token, lastIntactVersion: try store.lastIntactVersion(of: zone),
            knownTags: try store.sentTags(of: zone), limit: limit)
    }

    /// Returns a page with all records that have arrived: of the pages that were requested ahead,
    /// or of one that is requested now; then requests the next one if more follow.
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

    /// On a slow network a smaller page may arrive in time; without a network the size makes no
    /// difference.
    private func noteLost(_ question: PageQuestion, _ failure: SyncFailure) {
        guard settings.recordsPerPage == nil, let limit = question.limit,
            limit > Self.smallestFullPage, failure.code != .networkUnavailable,
            RecoveryAction.forRequest(failure.code) == .awaitNetwork
        else { return }
        _ = fullPageSize.refused(itemCount: limit)
    }

    /// The records of a page that is not halved any further, however slow the network is.
    private static let smallestFullPage = 125
}
