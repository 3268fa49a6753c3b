import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// A page could not be written, as on a full disk: the store concludes nothing from the end of that fetch, and sends
/// nothing until the page was fetched again.
@Suite(.timeLimit(.minutes(20))) struct EngineUnwrittenPageTests {
    /// Fetches while the device has no space for pages of records, and sends when it has space again.
    private func syncWithoutRoomForPages(_ phone: FullDiskDevice) async throws {
        phone.delegate.fail { _ in true }
        try await phone.engine.fetchChanges()
        phone.delegate.fail { _ in false }
        #expect(phone.delegate.store.failure != nil)
        // After a conflict a second send is needed.
        do { try await phone.engine.sendChanges() } catch is CKError {}
    }

    /// The unwritten page contains the deletion of a record whose save got no answer.
    @Test(arguments: [false, true])
    func recordDeletedElsewhereStaysDeleted(isRestarted: Bool) async throws {
        let (cloud, phone, tablet) = try await FullDiskDevice.withTablet()
        try phone.save("a", "1")
        try await phone.sync()
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        try phone.save("b", "1")
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try tablet.delete("b")
        try await tablet.sync()
        try await syncWithoutRoomForPages(phone)
        if isRestarted { try phone.restart() }
        try await phone.sync()
        try await tablet.sync()
        #expect(phone.delegate.store.failure == nil)
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try phone.texts() == ["a": "1"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The unwritten page belongs to a full fetch: without it, its records would count as missing.
    @Test(arguments: [false, true])
    func pendingEditSurvivesAnUnwrittenPage(isRestarted: Bool) async throws {
        let (cloud, phone, tablet) = try await FullDiskDevice.withTablet()
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try await tablet.sync()
        try tablet.save("c", "1")
        try await tablet.sync()
        try phone.save("a", "2")
        cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        try await syncWithoutRoomForPages(phone)
        #expect(cloud.faults.remaining.isEmpty)
        if isRestarted { try phone.restart() }
        try await phone.sync()
        try await tablet.sync()
        for texts in try [phone.texts(), tablet.texts()] {
            #expect(texts == ["a": "2", "c": "1"])
        }
    }
}
