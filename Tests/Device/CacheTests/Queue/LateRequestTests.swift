import StratusCache
import StratusClient
import StratusRecords
import StratusRuntime
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The network keeps a request until the device waits for it no more, and hands it over after the device has fetched what
/// the service has.
@Suite(.timeLimit(.minutes(20))) struct LateRequestTests {
    /// Syncs, where the next request to an endpoint is kept; returns it, to be handed over later.
    private func syncKeeping(
        _ path: String, of device: CloudDevice
    ) async throws -> @Sendable () async -> Void {
        device.transport.keep(path)
        for _ in 0..<9 {
            // The first attempts find no answer.
            try? await device.cache.sync()
            if device.transport.hasKept { break }
        }
        return try #require(device.transport.takeKept())
    }

    @Test func lateSaveBringsNoDeletedRecordBack() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        try phone.save("b", "1")
        let handOver = try await syncKeeping(RecordsModify.path, of: phone)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try tablet.delete("b")
        try await tablet.cache.sync()
        await handOver()
        for device in [phone, tablet] {
            try await device.cache.sync()
            #expect(try device.texts() == ["a": "1"])
        }
    }

    @Test func lateDeletionOfAZoneSparesTheOneMadeSince() async throws {
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

    /// A deletion that was carried out and not answered, and one that another device was quicker with, are of the zone that
    /// this device knew.
    @Test(arguments: [true, false])
    func deletionOfAZoneSparesTheOneThatOthersMadeSince(_ isCarriedOut: Bool) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        // It hears of the zone's creation.
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

    /// Without a name of its own a device has another one in each process.
    @Test func requestOfAProcessWithAnotherNameIsCancelled() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        try phone.save("b", "1")
        let handOver = try await syncKeeping(RecordsModify.path, of: phone)
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
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "1")
        try await phone.cache.sync()
        try phone.save("b", "1")
        let handOver = try await syncKeeping(RecordsModify.path, of: phone)
        try phone.restart()
        try phone.delete("b")
        try await phone.cache.sync()
        await handOver()
        for device in [phone, tablet] {
            try await device.cache.sync()
            #expect(try device.texts() == ["a": "1"])
        }
    }
}
