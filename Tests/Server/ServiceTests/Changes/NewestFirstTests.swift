import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// What newest-first pages cost, which are found by reading from the oldest change on.
@Suite struct NewestFirstTests {
    @Test func everyNewestFirstPageIsReadAsAWholeZone() async throws {
        let lengths = Mutex<[ReadLength]>([])
        let world = World(
            WatchedStorage(beforeRead: { read in
                guard read.outcome == ChangesZone.Answer.self else { return }
                lengths.withLock { $0.append(read.length) }
            }))
        let alice = try await world.person("alice", with: "Trips")
        for number in 0..<3 { try await alice.modify([hut(.create, "\(number)")], in: "Trips") }
        var page = try await alice.page("Trips", limit: 1, isReversed: true)
        #expect(lengths.withLock { $0 } == [.zone])
        while page.moreComing {
            // The token alone says that the page is newest-first.
            page = try await alice.page("Trips", since: page.syncToken, limit: 1)
            #expect(lengths.withLock { $0.last } == .zone)
        }
        #expect(page.records.map(\.name) == ["0"])
        _ = try await alice.page("Trips", since: page.syncToken, limit: 1)
        #expect(lengths.withLock { $0.last } == .page)
    }

    @Test func newestFirstPageCostsTheRecordsItPasses() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.makeHuts(1_600)
        var pages = 0
        do {
            while pages < 40 {
                // Without the extensions a page has one record; all others are passed.
                _ = try await alice.elsewhere.page("Trips", limit: 1, isReversed: true)
                pages += 1
            }
        } catch let failure as RequestFailure {
            #expect(failure.error.code == .throttled)
        }
        #expect((3...4).contains(pages), "\(pages)")
    }
}
