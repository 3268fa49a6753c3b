import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Records that this version of the app cannot read keep no others from syncing.
@Suite(.timeLimit(.minutes(20))) struct CacheUnreadableRecordTests {
    /// A phone with new versions of "a" and "b", and a tablet that cannot read "a".
    ///
    /// - Parameter isNew: Whether the tablet has fetched nothing yet.
    private func devices(isNew: Bool = false) async throws -> (phone: Device, tablet: Device) {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        for text in ["1", "2"] {
            for name in ["a", "b"] { try phone.save(name, text) }
            try await phone.sync()
            if text == "1", !isNew { try await tablet.sync() }
        }
        tablet.link.setUnreadable(["a"])
        return (phone, tablet)
    }

    /// Starts a newer version of the app, which can read all records.
    private func updateApp(on tablet: Device) throws {
        tablet.link.setUnreadable([])
        try tablet.restart()
    }

    private func unreadable(_ device: Device) async throws -> [String] {
        try await device.cache.reports().compactMap { report in
            guard case .recordUnreadable(let id, _) = report.event else { return nil }
            return id.recordName
        }
    }

    @Test(arguments: [false, true])
    func unreadableRecordIsReadByANewerApp(isNew: Bool) async throws {
        let (phone, tablet) = try await devices(isNew: isNew)
        let others = isNew ? [:] : ["a": "1"]
        try await tablet.sync()
        #expect(try tablet.texts() == others.merging(["b": "2"]) { $1 })
        #expect(try await unreadable(tablet) == ["a"])
        // A process of the same app tries once, and tells the app nothing new.
        try tablet.restart()
        try phone.save("b", "3")
        try await phone.sync()
        for _ in 0..<2 { try await tablet.sync() }
        #expect(try tablet.texts() == others.merging(["b": "3"]) { $1 })
        #expect(try await unreadable(tablet) == ["a"])
        #expect(tablet.link.callNames.count { $0 == "records" } == 1)
        try updateApp(on: tablet)
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "2", "b": "3"])
        try tablet.restart()
        try await tablet.sync()
        #expect(tablet.link.callNames.count { $0 == "records" } == 2)
    }

    @Test func unreadableRecordIsReadWhenItChanges() async throws {
        let (phone, tablet) = try await devices()
        try await tablet.sync()
        tablet.link.setUnreadable([])
        try phone.save("a", "3")
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "3", "b": "2"])
    }

    /// The record was deleted on another device, or the device fetches everything again.
    @Test func recordOfTheFileIsRemovedOnlyWithADeletion() async throws {
        let (phone, tablet) = try await devices()
        try await tablet.sync()
        try await tablet.cache.refetchEverything()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "2"])
        try phone.delete("a")
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["b": "2"])
        try tablet.restart()
        try await tablet.sync()
        #expect(!tablet.link.callNames.contains("records"))
    }

    /// The service takes fewer records in a request than the device asks for.
    @Test func recordsAreReadAgainInSmallerRequests() async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        let names = ["a", "b", "c", "d", "e"]
        for name in names { try phone.save(name, "1") }
        try await phone.sync()
        tablet.link.setUnreadable(Set(names))
        try await tablet.sync()
        #expect(try tablet.texts().isEmpty)
        tablet.link.setUnreadable([])
        cloud.restart { $0.operationsPerRequest = 2 }
        try tablet.restart()
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
    }

    /// The requests that were answered before one failed are not repeated.
    @Test func manyRecordsAreReadAgainInSteps() async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        let names = (0..<250).map { "\($0)" }
        for name in names { try phone.save(name, "1") }
        try await phone.sync()
        tablet.link.setUnreadable(Set(names))
        try await tablet.sync()
        try updateApp(on: tablet)
        tablet.link.fail("records", 1, .requestLost(SyncFailure(.networkUnavailable)))
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(tablet.link.callNames.count { $0 == "records" } == 3)
    }

    /// The zone is busy when the record is requested: it does not count as tried.
    @Test func recordOfABusyZoneIsReadAgainLater() async throws {
        let (_, tablet) = try await devices()
        try await tablet.sync()
        try updateApp(on: tablet)
        let service = tablet.link.service
        service.refuseLookups(of: "a", SyncFailure(.zoneBusy))
        tablet.link.duringNextLookup { service.refuseLookups(of: "a", nil) }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "2", "b": "2"])
        #expect(tablet.link.callNames.count { $0 == "records" } == 2)
    }

    /// A fetch from the beginning does not report that the record was deleted just before.
    @Test func recordIsNotReadByItsNameBeforeAFullFetch() async throws {
        let (phone, tablet) = try await devices()
        try await tablet.sync()
        try updateApp(on: tablet)
        // As after an expired token.
        try tablet.cache.database(.private).store.dropToken(of: .list, lastIntactVersion: nil)
        tablet.link.duringNextLookup {
            try phone.delete("a")
            try await phone.sync()
        }
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(!tablet.link.callNames.contains("records"))
    }

    /// The service refuses the edit, whose base is an earlier version.
    @Test func editOfAnUnreadableRecordIsSetAside() async throws {
        let (phone, tablet) = try await devices()
        try await tablet.sync()
        try tablet.save("a", "mine")
        try tablet.save("b", "3")
        // What waits is in the items below.
        try? await tablet.sync()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "b": "3"])
        #expect(try tablet.text("a") == "mine")
        #expect(try await tablet.cache.attentionItems().map(\.recordID.recordName) == ["a"])
    }
}
