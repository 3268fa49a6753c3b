import StratusSyncEngine
import Testing

/// Deletions before a device's first fetch of a zone, which a full fetch does not list for other devices.
@Suite struct EngineFirstFetchTests {
    /// The service still reports the deletion to the device that created the record.
    @Test(arguments: [false, true])
    func savedRecordDeletedElsewhereBeforeTheFirstFetchIsDeleted(restarts: Bool) async throws {
        let (phone, tablet) = try await EngineWorld().unfetchedPair()
        try await tablet.engine.fetchChanges()
        tablet.erase("a")
        try await tablet.engine.sendChanges()
        if restarts { phone.restart() }
        try await phone.engine.fetchChanges()
        #expect(phone.texts == ["b": "1"])
        #expect(tablet.texts == ["b": "1"])
    }
}
