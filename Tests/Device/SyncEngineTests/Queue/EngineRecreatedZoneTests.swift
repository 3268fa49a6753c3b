import StratusClient
import StratusSyncEngine
import StratusTesting
import Testing

/// Zones that were deleted and created again.
@Suite(.timeLimit(.minutes(20)))
struct EngineRecreatedZoneTests {
    /// The database's changes name only the zone's last state, so the tablet does not see its deletion.
    @Test(arguments: [false, true])
    func recordsOfZoneThatWasRecreatedElsewhereAreRemoved(restarts: Bool) async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.engine.state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        try await phone.engine.sendChanges()
        phone.makeZone()
        phone.write("b", "2")
        try await phone.engine.sendChanges()
        if restarts { tablet.restart() }
        try await tablet.engine.fetchChanges()
        let log = tablet.takeLog()
        #expect(log.contains("zones -Huts deleted") && log.contains("zones +Huts"), "\(log)")
        #expect(tablet.texts == ["b": "2"])
        phone.write("c", "3")
        try await phone.engine.sendChanges()
        try await tablet.engine.fetchChanges()
        #expect(!tablet.takeLog().contains("zones -Huts deleted"))
        #expect(tablet.texts == ["b": "2", "c": "3"])
    }

    /// The deletion of the zone was added before another device deleted it and created it again.
    @Test(arguments: [false, true])
    func deletionKeepsZoneThatWasRecreatedElsewhere(fetchesFirst: Bool) async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        tablet.engine.state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        phone.engine.state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        try await phone.engine.sendChanges()
        phone.makeZone()
        phone.write("b", "2")
        try await phone.engine.sendChanges()
        if fetchesFirst { try await tablet.engine.fetchChanges() }
        try await tablet.engine.sendChanges()
        #expect(tablet.engine.state.pendingDatabaseChanges.isEmpty)
        #expect(try await phone.database.record(for: hut("b"))["text"] as? String == "2")
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts["b"] == "2")
    }

    /// The app has learned from a failed save that the zone is gone.
    @Test func zoneThatTheAppRecreatesIsNotReportedAsDeleted() async throws {
        let world = EngineWorld()
        let (_, tablet) = try await world.pair()
        world.cloud.faults.resetZone("Huts", reason: .deleted)
        tablet.write("a", "2")
        try await tablet.sendAll()
        tablet.write("c", "3")
        try await tablet.engine.fetchChanges()
        #expect(!tablet.takeLog().contains("zones -Huts deleted"))
        #expect(tablet.texts == ["a": "2", "c": "3"])
        try await tablet.sendAll()
        #expect(tablet.engine.state.pendingRecordZoneChanges.isEmpty)
    }
}
