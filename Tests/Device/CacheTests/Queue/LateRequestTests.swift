import StratusCache
import StratusClient
import StratusRecords
import StratusRuntime
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The network delays a request until the device has stopped waiting for it, and delivers it after the device has
/// fetched the service's changes.
@Suite(.timeLimit(.minutes(20))) struct LateRequestTests {
    /// Syncs while the network holds the next request to an endpoint; returns a closure that delivers it.
    private func syncKeeping(
        _ path: String, of device: CloudDevice
    ) async throws -> @Sendable () async -> Void {
        device.transport.keep(path)
        for _ in 0..<9 {
            // The first attempts get no answer.
            try? await device.cache.sync()
            if device.transport.hasKept { break }
        }
        return try #require(device.transport.takeKept())
    }

    /// Two devices with the record `a` and its zone.
    private func syncedPair(
        _ cloud: TestCloud = TestCloud()
    ) async throws -> (phone: CloudDevice, tablet: CloudDevice) {
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        // The second sync fetches the zone's creation.
        for device in [phone, phone, tablet] { try await device.cache.sync() }
        return (phone, tablet)
    }

    /// Two devices. The phone has sent the record `a`; its save of `b` is delivered by the returned closure.
    private func pairWithLateSave(
        _ cloud: TestCloud
    ) async throws -> (CloudDevice, CloudDevice, @Sendable () async -> Void) {
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        try phone.save("b", "1")
        return (phone, tablet, try await syncKeeping(RecordsModify.path, of: phone))
    }

    /// Delivers a late request, and expects that the devices then have no other record than `a`.
    private func expectOnlyA(
        on devices: CloudDevice..., after handOver: @Sendable () async -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        await handOver()
        for device in devices {
            try await device.cache.sync()
            #expect(try device.texts() == ["a": "1"], sourceLocation: sourceLocation)
        }
    }

    @Test func lateSaveDoesNotRestoreDeletedRecord() async throws {
        let (phone, tablet, handOver) = try await pairWithLateSave(TestCloud())
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try tablet.delete("b")
        try await tablet.cache.sync()
        try await expectOnlyA(on: phone, tablet, after: handOver)
    }

    @Test func lateZoneDeletionKeepsTheRecreatedZone() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.save("a", "1")
        try await phone.cache.sync()
        try await phone.cache.deleteZone(.list)
        let handOver = try await syncKeeping(ZonesModify.path, of: phone)
        try await phone.cache.sync()
        try phone.save("a", "2")
        try await phone.cache.sync()
        await handOver()
        try await phone.cache.sync()
        #expect(try phone.texts() == ["a": "2"])
    }

    /// The phone's deletion was carried out without an answer, or the tablet deleted the zone first: in both cases the
    /// deletion only applies to the zone that the phone knew.
    @Test(arguments: [true, false])
    func zoneDeletionKeepsZoneRecreatedElsewhere(_ isCarriedOut: Bool) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        // The second sync fetches the zone's creation.
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try await phone.cache.deleteZone(.list)
        if isCarriedOut {
            let handOver = try await syncKeeping(ZonesModify.path, of: phone)
            await handOver()
        } else {
            try await tablet.cache.deleteZone(.list)
        }
        try await tablet.cache.sync()
        #expect(try tablet.texts().isEmpty)
        try tablet.save("b", "1")
        try await tablet.cache.sync()
        try await phone.cache.sync()
        try await tablet.cache.sync()
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// The zone is deleted, created again and deleted once more, before anything is sent.
    @Test func secondZoneDeletionKeepsZoneRecreatedElsewhere() async throws {
        let (phone, tablet) = try await syncedPair()
        try await phone.cache.deleteZone(.list)
        try phone.save("n", "1")
        try await phone.cache.deleteZone(.list)
        try await tablet.cache.deleteZone(.list)
        try await tablet.cache.sync()
        try tablet.save("b", "1")
        for device in [tablet, phone, tablet] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// The first deletion arrived. The creation of the next zone did not, because another device created one first.
    @Test func zoneDeletionBeforeOwnRecreationKeepsZoneRecreatedElsewhere() async throws {
        let (phone, tablet) = try await syncedPair()
        try await phone.cache.deleteZone(.list)
        try phone.save("n", "1")
        phone.transport.tap { [transport = phone.transport] _, answer in
            if answer is ZonesModify.Answer {
                for request in 0..<200 { transport.fail(request: request, .requestLost) }
            }
            return answer
        }
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        phone.transport.tap { $1 }
        try await tablet.cache.sync()
        try tablet.save("b", "1")
        try await tablet.cache.sync()
        try await phone.cache.deleteZone(.list)
        phone.transport.endFaults()
        for device in [phone, tablet] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// The service refuses the first deletion, and another zone is there before the second.
    @Test func zoneDeletionAfterRefusalKeepsZoneRecreatedElsewhere() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await syncedPair(cloud)
        cloud.faults(on: "phone").next(of: ZonesModify.self, .answer(.accessDenied))
        try await phone.cache.deleteZone(.list)
        try await phone.cache.sync()
        try await tablet.cache.deleteZone(.list)
        try await tablet.cache.sync()
        try tablet.save("b", "1")
        try await tablet.cache.sync()
        try await phone.cache.deleteZone(.list)
        for device in [phone, tablet] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// A device without a fixed ID has a new one in each process.
    @Test func requestOfAProcessWithAnotherDeviceIDIsCancelled() async throws {
        let cloud = TestCloud()
        let (phone, tablet, handOver) = try await pairWithLateSave(cloud)
        try phone.cache.close()
        let nextProcess = try await CloudDevice(cloud, "next process")
        let cache = try CloudCache(
            path: phone.path, container: CloudDevice.container(nextProcess.connection),
            settings: .quick, world: nextProcess.time.world)
        try await cache.sync()
        try await tablet.cache.sync()
        try tablet.delete("b")
        try await tablet.cache.sync()
        await handOver()
        try await tablet.cache.sync()
        #expect(try tablet.texts() == ["a": "1"])
        try cache.close()
    }

    @Test func requestOfAKilledProcessIsCancelledByTheNextOne() async throws {
        let (phone, tablet, handOver) = try await pairWithLateSave(TestCloud())
        try phone.restart()
        try phone.delete("b")
        try await phone.cache.sync()
        try await expectOnlyA(on: phone, tablet, after: handOver)
    }
}
