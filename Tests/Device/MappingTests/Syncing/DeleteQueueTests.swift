import StratusClient
import StratusTesting
import Testing

/// The devices and deletions in a database without a change feed.
@Suite(.timeLimit(.minutes(20))) struct DeleteQueueTests {
    let cloud = TestCloud()

    /// No record can have the ID as a part of its name: it is not of ASCII characters, or too long with the object's
    /// name, or by itself.
    @Test(
        arguments: [
            "télé", String(repeating: "x", count: 240), String(repeating: "x", count: 300),
        ])
    func deviceIDThatIsNoRecordNameGetsDeletions(deviceID: String) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public, deviceID: deviceID)
        let anna = phone.addPerson("Anna")
        for device in [phone, tablet] { try await device.sync() }
        try await phone.mapping.delete(anna)
        #expect(try await phone.records("DeleteQueue").count == 1)
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(try await phone.records("DeleteQueue").isEmpty)
    }

    /// Any user may save such a record, and no device could request its entries.
    @Test func deviceWithAHugeIDGetsNoEntries() async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public)
        let anna = phone.addPerson("Anna")
        for device in [phone, tablet] { try await device.sync() }
        let record = CKRecord(
            recordType: "Device", recordID: CKRecord.ID(recordName: "device-huge"))
        record["deviceId"] = String(repeating: "x", count: 70_000)
        _ = try await phone.database.save(record)
        try await phone.mapping.delete(anna)
        #expect(
            try await phone.records("DeleteQueue").map { $0["device"] as String? } == ["tablet"])
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
    }
}
