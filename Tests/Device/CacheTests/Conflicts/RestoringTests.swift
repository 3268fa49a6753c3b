import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A value that lost a conflict can be restored, and unused reports do not fill the device.
@Suite struct RestoringTests {
    private let id = RecordID(name: "a", zoneID: .list)

    /// A phone and a tablet that edited the same text, the tablet later; both have synced.
    private func overruled(
        phoneFirst: Bool
    ) async throws -> (cloud: RealService, phone: Device, tablet: Device) {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.save("a", "0")
        for device in [phone, tablet] { try await device.sync() }
        try phone.save("a", "earlier")
        cloud.pass()
        try tablet.save("a", "later")
        let order = phoneFirst ? [phone, tablet, phone] : [tablet, phone, tablet]
        for device in order { try await device.sync() }
        #expect(try phone.text("a") == "later")
        return (cloud, phone, tablet)
    }

    /// The device that resolves the conflict has the losing value, whichever device it came from.
    @Test(arguments: [true, false])
    func overruledValueIsRestoredAsANewEdit(phoneFirst: Bool) async throws {
        let (cloud, phone, tablet) = try await overruled(phoneFirst: phoneFirst)
        let decided = phoneFirst ? tablet : phone
        let report = try #require(try await decided.cache.reports().first)
        try decided.restart()
        #expect(try decided.cache.restore(report).map(\.recordName) == ["a"])
        #expect(try decided.text("a") == "earlier")
        #expect(try await decided.cache.reports().isEmpty)
        for device in [decided, phone, tablet] { try await device.sync() }
        #expect(try phone.text("a") == "earlier" && tablet.text("a") == "earlier")
        #expect(try await cloud.record("a")?["text"] == .string("earlier"))
        // A second restore changes nothing.
        try decided.cache.restore(report)
        #expect(try await decided.cache.pendingRecordIDs().isEmpty)
    }

    @Test func editOfDeletedRecordIsRestored() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.save("a", "0")
        for device in [phone, tablet] { try await device.sync() }
        try tablet.delete("a")
        try await tablet.sync()
        try phone.save("a", "mine")
        try await phone.sync()
        #expect(try phone.text("a") == nil)
        let report = try #require(try await phone.cache.reports().first)
        try phone.cache.restore(report)
        for device in [phone, tablet] { try await device.sync() }
        #expect(try tablet.text("a") == "mine")
    }

    @Test func reportWithoutValuesIsRefused() async throws {
        let cloud = RealService()
        cloud.refuse("a", SyncFailure(.invalidArguments))
        let phone = try Device(cloud)
        try phone.save("a", "0")
        try await phone.sync()
        let report = try #require(try await phone.cache.reports().first)
        let error = #expect(throws: CacheError.self) { try phone.cache.restore(report) }
        #expect(error?.code == .nothingToRestore)
        #expect(try await phone.cache.reports().count == 1)
    }

    @Test func droppedReportsAreCounted() async throws {
        var settings = SyncSettings.quick
        settings.reportsKept = 16
        let phone = try Device(RealService(), settings: settings)
        for number in 0..<100 {
            _ = try phone.cache.store.write { _, outcome in
                let record = RecordSnapshot(
                    id: RecordID(name: "r\(number)", zoneID: .list), type: "Item")
                outcome.events.append(.editOfDeletedRecord(client: try record.record()))
            }
            if number == 60 { try phone.restart() }
        }
        let reports = try await phone.cache.reports(limit: 1_000)
        var dropped = 0
        var kept: [String] = []
        for report in reports {
            switch report.event {
            case .reportsDropped(let count): dropped += count
            case .editOfDeletedRecord(let client): kept.append(client.recordID.recordName)
            default: Issue.record("\(report)")
            }
        }
        #expect(dropped + kept.count == 100)
        #expect(kept == (100 - kept.count..<100).map { "r\($0)" }, "the newest stay")
        #expect((15...17).contains(kept.count))
    }

    /// A newer app has changed all records of a zone at once.
    @Test func reportsOfUnreadableRecordsDoNotDisplaceThoseOfLosses() async throws {
        var settings = SyncSettings.quick
        settings.reportsKept = 16
        let phone = try Device(RealService(), settings: settings)
        for number in 0..<60 {
            _ = try phone.cache.store.write { _, outcome in
                let id = RecordID(name: "r\(number)", zoneID: .list)
                if number < 4 {
                    let record = RecordSnapshot(id: id, type: "Item")
                    outcome.events.append(.editOfDeletedRecord(client: try record.record()))
                } else {
                    let failure = SyncFailure(.internalError, message: "It cannot be read.")
                    outcome.events.append(.recordUnreadable(CKRecord.ID(id), failure))
                }
            }
        }
        let reports = try await phone.cache.reports(limit: 1_000)
        var lost: [String] = []
        var (unreadable, dropped) = (0, 0)
        for report in reports {
            switch report.event {
            case .editOfDeletedRecord(let client): lost.append(client.recordID.recordName)
            case .recordUnreadable: unreadable += 1
            case .reportsDropped(let count): dropped += count
            default: Issue.record("\(report)")
            }
        }
        #expect(lost == ["r0", "r1", "r2", "r3"])
        #expect(lost.count + unreadable + dropped == 60)
        #expect((11...13).contains(unreadable))
    }

    @Test func largeReportsAreLimitedByBytes() async throws {
        var settings = SyncSettings.quick
        settings.reportsKept = 16
        settings.reportBytesKept = 30_000
        let phone = try Device(RealService(), settings: settings)
        for number in 0..<10 {
            _ = try phone.cache.store.write { _, outcome in
                let record = RecordSnapshot(
                    id: RecordID(name: "r\(number)", zoneID: .list), type: "Item",
                    fields: [
                        Field(
                            name: "text", value: .string(String(repeating: "x", count: 10_000)))
                    ])
                outcome.events.append(.editOfDeletedRecord(client: try record.record()))
            }
        }
        let reports = try await phone.cache.reports(limit: 1_000)
        #expect(reports.count < 5)
        #expect(
            reports.contains { if case .reportsDropped = $0.event { true } else { false } })
    }
}
