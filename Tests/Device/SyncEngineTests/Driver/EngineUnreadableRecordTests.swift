import StratusClient
import StratusRecords
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

/// Records that this version of the app cannot read keep no others from an engine.
@Suite(.timeLimit(.minutes(20))) struct EngineUnreadableRecordTests {
    /// A phone that has sent "a" and "b", and a tablet that could not read some of them and now has a newer app.
    private func devices(
        _ cloud: TestCloud, unreadable names: Set<String>
    ) async throws -> (phone: EngineApp, tablet: SwitchableDevice) {
        let (_, phone) = try await SwitchableDevice.sentAndReceived(
            ["a": "1", "b": "1"], to: cloud)
        let tablet = try await SwitchableDevice(cloud, "tablet", user: "ida")
        tablet.transport.setUnreadable(names)
        await #expect(throws: CKError.self) { try await tablet.app.engine.fetchChanges() }
        #expect(Set(tablet.app.texts.keys) == Set(["a", "b"]).subtracting(names))
        tablet.transport.setUnreadable([])
        tablet.app.restart()
        return (phone, tablet)
    }

    /// Expects that the tablet has the phone's records after its next fetch.
    ///
    /// - Parameter lookups: How often the tablet has requested records by their names then.
    private func expectNextFetch(
        by tablet: SwitchableDevice, completes phone: EngineApp, lookups: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await tablet.app.engine.fetchChanges()
        #expect(tablet.app.texts == phone.texts, sourceLocation: sourceLocation)
        #expect(
            tablet.transport.requests.count { $0 == "records/lookup" } == lookups,
            sourceLocation: sourceLocation)
    }

    @Test func unreadableRecordIsReadByANewerApp() async throws {
        let cloud = TestCloud()
        let (_, phone) = try await SwitchableDevice.sentAndReceived(
            ["a": "1", "b": "1"], to: cloud)
        let device = try await SwitchableDevice(cloud, "tablet", user: "ida")
        let tablet = device.app
        device.transport.setUnreadable(["a"])
        let error = await #expect(throws: CKError.self) { try await tablet.engine.fetchChanges() }
        let zoneError = error?.partialErrorsByItemID?[hutsID] as? CKError
        #expect(zoneError?.errorsByRecordID.keys.map(\.recordName) == ["a"])
        #expect(tablet.takeLog().contains("didFetch Huts!partialFailure"))
        #expect(tablet.texts == ["b": "1"])
        // It is reported once, and the zone is fetched further.
        phone.write("b", "2")
        try await phone.engine.sendChanges()
        try await tablet.engine.fetchChanges()
        #expect(tablet.takeLog().contains("didFetch Huts"))
        #expect(tablet.texts == ["b": "2"])
        device.transport.setUnreadable([])
        tablet.restart()
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1", "b": "2"])
        tablet.restart()
        try await tablet.engine.fetchChanges()
        #expect(device.transport.requests.count { $0 == "records/lookup" } == 1)
    }

    @Test func unreadableRecordIsReadWhenItChanges() async throws {
        let cloud = TestCloud()
        let (_, phone) = try await SwitchableDevice.sentAndReceived(
            ["a": "1", "b": "1"], to: cloud)
        let device = try await SwitchableDevice(cloud, "tablet", user: "ida")
        device.transport.setUnreadable(["a"])
        await #expect(throws: CKError.self) { try await device.app.engine.fetchChanges() }
        #expect(device.app.texts == ["b": "1"])
        device.transport.setUnreadable([])
        phone.write("a", "2")
        try await phone.engine.sendChanges()
        try await device.app.engine.fetchChanges()
        #expect(device.app.texts == ["a": "2", "b": "1"])
    }

    /// The request for the second of two pages fails, and the next fetch continues there.
    @Test func recordOfAnEarlierPageIsReportedAtTheEndOfItsZone() async throws {
        let cloud = TestCloud(pageSize: 1)
        // Sent one by one, because no page ends within a batch.
        let phone = try await SwitchableDevice.sent(["a": "1"], to: cloud).app
        phone.write("b", "1")
        try await phone.engine.sendChanges()
        let device = try await SwitchableDevice(cloud, "tablet", user: "ida")
        let engine = device.app.engine
        device.transport.setUnreadable(["a", "b"])
        let count = device.transport.beforeEach(ChangesZone.path) { number in
            if number == 2 { throw TransportError(.noRoute, "The network is gone.") }
        }
        await #expect(throws: CKError.self) { try await engine.fetchChanges() }
        #expect(count.value == 2)
        let error = await #expect(throws: CKError.self) { try await engine.fetchChanges() }
        let zoneError = error?.partialErrorsByItemID?[hutsID] as? CKError
        #expect(zoneError?.errorsByRecordID.keys.map(\.recordName).sorted() == ["a", "b"])
        // It is reported once.
        try await engine.fetchChanges()
    }

    /// The service takes fewer records in a request than the device asks for.
    @Test func recordsAreReadAgainInSmallerRequests() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud, unreadable: ["a", "b"])
        cloud.faults(on: "tablet").next(
            of: RecordsLookup.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        try await expectNextFetch(by: tablet, completes: phone, lookups: 3)
    }

    /// The zone is busy when the record is requested: it does not count as tried.
    @Test func recordOfABusyZoneIsReadAgainLater() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud, unreadable: ["a"])
        tablet.transport.refuseNextRecords(ServiceError(.zoneBusy, "The zone is busy."))
        let error = await #expect(throws: CKError.self) {
            try await tablet.app.engine.fetchChanges()
        }
        #expect(error?.code == .zoneBusy)
        try await expectNextFetch(by: tablet, completes: phone, lookups: 2)
    }

    /// A fetch from the beginning does not report that the record was deleted just before.
    @Test func recordIsNotReadByItsNameBeforeAFullFetch() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud, unreadable: ["a"])
        // After an expired token the engine fetches again at once.
        cloud.faults(on: "tablet").next(
            of: ChangesZone.self, .answer(.badRequest, frameworkCode: .changeTokenExpired))
        try await expectNextFetch(by: tablet, completes: phone, lookups: 1)
    }
}
