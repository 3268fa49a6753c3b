// An offline app in a seeded world: two devices whose clocks disagree, a lost answer, a process that ends. swift test
import CloudKit
import StratusCache
import StratusTesting
import StratusWire
import Testing

@Test(arguments: 1...20 as ClosedRange<UInt64>)
func editsOfBothDevicesAreKept(seed: UInt64) async throws {
    let world = SeededWorld(seed: seed)
    try await world.run {
        let cloud = TestCloud(seeded: world)

        /// A device: its clock, its connection, and its cache over a file in memory.
        func open(_ device: String, _ file: MemoryCacheFile, clockHours: Int64) async throws
            -> CloudCache
        {
            let clock = world.world(device, skewMilliseconds: clockHours * 3_600_000)
            let connection = try await cloud.connect(user: "alice", device: device, world: clock)
            let container = CKContainer(
                identifier: "iCloud.org.example.Huts", connection: connection)
            return try CloudCache(memory: file, container: container, world: clock)
        }
        let (phoneFile, tabletFile) = (try MemoryCacheFile(), try MemoryCacheFile())
        var phone = try await open("phone", phoneFile, clockHours: 3)
        let tablet = try await open("tablet", tabletFile, clockHours: -2)

        let id = CKRecord.ID(recordName: "gipfelblick", zoneID: CKRecordZone.ID(zoneName: "Huts"))
        let hut = CKRecord(recordType: "Hut", recordID: id)
        hut["beds"] = 12
        try await phone.save(hut)
        // The service saves the hut, and the phone never hears of it.
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        await #expect(throws: CacheError.self) { try await phone.sync() }
        try await tablet.sync()

        // Both edit without a network.
        cloud.faults(on: "phone").isCutOff = true
        let here = try #require(try await phone.record(for: id))
        here["name"] = "Gipfelblick"
        // The phone's process ends in the moment in which the edit is on its disk.
        phoneFile.setWriteFailure { _ in .killedAfter }
        await #expect(throws: (any Error).self) { try await phone.save(here) }
        phoneFile.setWriteFailure(nil)
        let there = try #require(try await tablet.record(for: id))
        there["beds"] = 14
        try await tablet.save(there)
        try await tablet.sync()
        // Three days later someone takes the phone out of a drawer.
        try await world.pass(seconds: 3 * 86_400)
        cloud.faults(on: "phone").isCutOff = false
        phone = try await open("phone", phoneFile, clockHours: 3)
        for cache in [phone, tablet] { try await cache.sync() }

        for cache in [phone, tablet] {
            let hut = try #require(try await cache.record(for: id))
            #expect(hut["name"] == "Gipfelblick")
            #expect(hut["beds"] == 14)
        }
    }
}
