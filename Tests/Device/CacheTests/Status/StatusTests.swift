import Foundation
import GRDB
import Observation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// The status: whether the sync is done, what is pending, and why.
@Suite(.timeLimit(.minutes(20))) struct StatusTests {
    @Test func timesAndAccountSurviveRestart() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        var status = try await phone.cache.status()
        #expect(status.account == .unknown && status.userRecordName == nil)
        #expect(status.lastFetchMilliseconds == nil && status.lastSendMilliseconds == nil)
        #expect(status.line == "Not synced yet.")
        try phone.save("a", "1")
        try await phone.sync()
        let synced = try await phone.cache.status()
        let alice = try await cloud.userRecordName()
        #expect(synced.account == .available && synced.userRecordName == alice)
        let fetched = try #require(synced.lastFetchMilliseconds)
        let sent = try #require(synced.lastSendMilliseconds)
        try phone.restart()
        status = try await phone.cache.status()
        #expect(status.lastFetchMilliseconds == fetched && status.lastSendMilliseconds == sent)
        #expect(status.account == .available)
        #expect(status.line == "All changes are synced.")
        // A failed attempt is neither a fetch nor a send.
        cloud.pass(milliseconds: 60_000)
        try phone.save("a", "2")
        phone.link.fail(call: 0, .requestLost(SyncFailure(.notAuthenticated)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        status = try await phone.cache.status()
        #expect(status.account == .noAccount)
        #expect(status.lastFetchMilliseconds == fetched && status.lastSendMilliseconds == sent)
        #expect(
            status.line
                == "No account is signed in; sign in to sync. Your changes are kept on this device. "
                + "1 change waits on this device."
        )
        try phone.restart()
        #expect(try await phone.cache.status().account == .noAccount)
    }

    @Test func signInOfAnotherUserIsReportedAsOtherUser() async throws {
        let cloud = RealService()
        let alice = try await cloud.userRecordName()
        let phone = try Device(cloud)
        try await phone.sync()
        try await phone.signIn("bob")
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        let status = try await phone.cache.status()
        #expect(status.account == .otherUser && status.userRecordName == alice)
    }

    /// The detailed text contains all ten answers.
    @Test func detailsContainEveryStatusLine() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.save("b", "1")
        phone.link.fail(call: 0, .requestLost(SyncFailure(.networkUnavailable, message: "Gone.")))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        let details = try await phone.cache.status().details
        for answer in [
            "Offline. 1 change waits on this device.", "Pending changes: 1",
            "Records here: 2, of which the service has 1", "Last fetch: 2024-01-01T00:00:0",
            "Last send: 2024-01-01T00:00:0", "Account: signed in", "Current operation: none",
            "Last operation: fetch the database's changes", "Pause after the next operation: ",
            "Halted: no", "Retries: 0", "Last failure: networkUnavailable Gone.",
        ] {
            #expect(details.contains(answer), "\(answer) is not in: \(details)")
        }
    }

    /// The status is read at every page of a first fetch, so it must not read each of a million records.
    @Test func countsUseIndexesOnly() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1", "b": "1"])
        try phone.save("a", "2")
        try phone.save("c", "1")
        let status = try await phone.cache.status()
        #expect(status.recordCount == 3 && status.recordsWithChangeTagCount == 2)
        let plan = try phone.cache.store.read { database in
            try Row.fetchAll(
                database, sql: "EXPLAIN QUERY PLAN " + phone.cache.store.countsSQL
            ).map { $0["detail"] as String }.filter { $0.contains(" record ") }
        }
        #expect(
            plan == [
                "SEARCH record USING COVERING INDEX recordByName (zone=?)",
                "SEARCH record USING INDEX recordByName (zone=? AND nameHash=?)",
            ])
    }

    @Test func stateOfARecordFollowsItsChange() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        @Sendable func stage(_ name: String) throws -> RecordSyncState.Stage {
            try phone.cache.syncState(of: CKRecord.ID(RecordID(name: name, zoneID: .list))).stage
        }
        #expect(try stage("a") == .absent)
        try phone.save("a", "1")
        #expect(try stage("a") == .waitsToSave)
        phone.link.duringNextSend {
            let during = try stage("a")
            #expect(during == .isSending)
        }
        try await phone.sync()
        #expect(try stage("a") == .synced)
        try phone.delete("a")
        #expect(try stage("a") == .waitsToDelete)
        try await phone.sync()
        #expect(try stage("a") == .absent)
        let failure = SyncFailure(.invalidArguments, message: "No.")
        cloud.refuse("b", failure)
        try phone.save("b", "1")
        try await phone.sync()
        #expect(try stage("b") == .needsAttention(failure))
    }

    @Test func statusesReportEachChangeAndEndWithTheCache() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        var statuses = phone.cache.statuses().makeAsyncIterator()
        #expect(try await statuses.next()?.pendingCount == 0)
        try phone.save("a", "1")
        #expect(try await statuses.next()?.pendingCount == 1)
        try await phone.sync()
        var last: CacheStatus?
        while last?.summary != "Done" { last = try await statuses.next() }
        #expect(last?.recordsWithChangeTagCount == 1)
        try phone.cache.close()
        while try await statuses.next() != nil {}
    }

    @Test @MainActor func liveStatusFollowsTheCache() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let live = LiveStatus(of: phone.cache)
        try phone.save("a", "1")
        while live.status.pendingCount != 1 { await change(of: live) }
        try await phone.sync()
        while live.status.line != "All changes are synced." { await change(of: live) }
        #expect(live.error == nil)
    }

    /// Waits until the observed status changes.
    @MainActor private func change(of live: LiveStatus) async {
        await withCheckedContinuation { continuation in
            withObservationTracking {
                _ = live.status
            } onChange: {
                continuation.resume()
            }
        }
    }
}
