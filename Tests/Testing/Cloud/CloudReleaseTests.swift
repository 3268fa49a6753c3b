import StratusClient
import StratusService
import StratusTesting
import Testing

/// A cloud that a test no longer uses goes, with its databases: a process has thousands of tests.
@Suite struct CloudReleaseTests {
    @Test(.timeLimit(.minutes(5))) func cloudIsReleasedWithItsLastDevice() async throws {
        let clock = TestClock()
        var cloud: TestCloud? = TestCloud(
            settings: ServiceSettings(isForDevelopment: true, world: clock.world))
        weak let service = cloud?.service
        weak let released = cloud
        var device = try await cloud?.container(
            "iCloud.org.example.Lists", user: "alice", device: "phone")
        let zone = CKRecordZone(zoneName: "List")
        _ = try await device?.privateCloudDatabase.save(zone)
        let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        _ = try await device?.privateCloudDatabase.save(CKRecord(recordType: "Item", recordID: id))
        await cloud?.service.waitUntilIdle()
        (cloud, device) = (nil, nil)
        #expect(released == nil)
        // Its last tasks end; none of them waits for the clock, which stands still.
        while service != nil { await Task.yield() }
    }
}
