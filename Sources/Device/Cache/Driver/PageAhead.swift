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
}

/// The page that follows, asked for while this one is written: the network and the file are busy at once.
///
/// There is one at the most. It is an answer to the question that comes next, early, and nothing else: whatever the
/// session does in between, be it a pause, makes it void. Its failure is that of the operation that would have asked.
final class PageAhead: Sendable {
    let question: PageQuestion
    private let answer = Mutex<Result<ZonePage, any Error>?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        _ question: PageQuestion, in world: World,
        _ fetch: @escaping @Sendable (PageQuestion) async throws -> ZonePage
    ) {
        self.question = question
        let task = world.startTask("cache page ahead") { [self] in
            let answer: Result<ZonePage, any Error>
            do {
                answer = .success(try await fetch(question))
            } catch {
                answer = .failure(error)
            }
            self.answer.withLock { $0 = answer }
        }
        self.task.withLock { $0 = task }
    }

    /// How many records came, as far as they did.
    var recordCount: Int {
        guard case .success(let page) = answer.withLock({ $0 }) else { return 0 }
        return page.records.count
    }

    func cancel() { task.withLock { $0 }?.cancel() }

    func page() async throws -> ZonePage {
        await withTaskCancellationHandler {
            await task.withLock { $0 }?.value
        } onCancel: {
            cancel()
        }
        guard let answer = answer.withLock({ $0 }) else { throw CancellationError() }
        return try answer.get()
    }
}

extension SyncDriver {
    /// Forgets the page that was asked for before its turn.
    func dropPageAhead() {
        pageAhead?.cancel()
        pageAhead = nil
    }

    /// What to ask a zone's next page with.
    ///
    /// Where all of the zone is fetched the page is a large one, as each is waited for until it is on the disk; our
    /// service gives 2,000 at the most.
    func question(_ zone: ZoneID, _ token: String?) throws -> PageQuestion {
        var limit = settings.recordsPerPage
        if limit == nil, !remote.isAppleService, try store.isRefetching(zone) {
            limit = fullPageSize.itemLimit
        }
        return PageQuestion(
            zone: zone, token: token, lastIntactVersion: try store.lastIntactVersion(of: zone),
            knownTags: try store.sentTags(of: zone), limit: limit)
    }

    /// A page: the one that was asked for already, or one that is asked for now; and, where more is to come, asks for
    /// the next.
    func page(_ question: PageQuestion) async throws -> ZonePage {
        let ahead = pageAhead
        pageAhead = nil
        let page: ZonePage
        do {
            if let ahead, ahead.question == question {
                page = try await ahead.page()
            } else {
                ahead?.cancel()
                page = try await Self.fetch(question, remote)
            }
        } catch let failure as SyncFailure {
            noteLost(question, failure)
            throw failure
        }
        fullPageSize.accepted(itemCount: page.records.count)
        if page.moreComing {
            var next = question
            next.token = page.token
            if isOfFullSize(question) { next.limit = fullPageSize.itemLimit }
            pageAhead = PageAhead(next, in: world) { [remote] in try await Self.fetch($0, remote) }
        }
        return page
    }

    /// A slow network may bring a smaller page in time; one that is not there says nothing of the size.
    private func noteLost(_ question: PageQuestion, _ failure: SyncFailure) {
        guard isOfFullSize(question), let limit = question.limit,
            limit > Self.smallestFullPage, failure.code != .networkUnavailable,
            RecoveryAction.forRequest(failure.code) == .awaitNetwork
        else { return }
        _ = fullPageSize.refused(itemCount: limit)
    }

    private func isOfFullSize(_ question: PageQuestion) -> Bool {
        settings.recordsPerPage == nil && question.limit != nil
    }

    private static let smallestFullPage = 125

    private static func fetch(
        _ question: PageQuestion, _ remote: any RemoteDatabase
    ) async throws -> ZonePage {
        try await remote.zoneChanges(
            question.zone, since: question.token, deletionsAfter: question.lastIntactVersion,
            knowing: question.knownTags, limit: question.limit)
    }
}
