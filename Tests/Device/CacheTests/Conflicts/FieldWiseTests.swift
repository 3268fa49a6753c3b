import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import TestSeeds
import Testing

@testable import StratusCache

/// The default resolver: in each field the latest edit wins, whichever device syncs first.
@Suite(.timeLimit(.minutes(20))) struct FieldWiseTests {
    private static let names = ["title", "text", "colour"]
    private let id = RecordID(name: "a", zoneID: .list)

    /// Devices that have fetched the record and know the offsets of their clocks.
    private func world(
        _ skews: [Int64]
    ) async throws -> (cloud: RealService, devices: [Device]) {
        let cloud = RealService()
        var devices: [Device] = []
        for (number, skew) in skews.enumerated() {
            devices.append(try Device(cloud, time: TestTime(skewMilliseconds: skew)))
            // A device learns the offset of its clock from the answer to its first save.
            try devices[number].save("own \(number)", "x")
            try await devices[number].cache.sync()
        }
        try devices[0].edit("a", ["title": .string("0"), "text": .string("0")])
        for device in devices { try await device.cache.sync() }
        return (cloud, devices)
    }

    /// Edits of single fields, one after the other.
    private func edit(
        _ devices: [Device], of cloud: RealService,
        _ edits: (device: Int, field: String, text: String)...
    ) throws {
        for edit in edits {
            try devices[edit.device].edit("a", [edit.field: .string(edit.text)])
            cloud.pass()
        }
    }

    private func isQuiet(_ device: Device) throws -> Bool {
        try device.cache.pendingRecordIDs().isEmpty
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func editsOfDifferentFieldsAreKeptInEitherOrder(_ order: [Int]) async throws {
        let (cloud, devices) = try await world([0, 0])
        try edit(devices, of: cloud, (0, "title", "1"), (1, "text", "1"))
        for number in order + order { try await devices[number].sync() }
        for device in devices {
            #expect(try device.cache.snapshot(id)?["title"] == .string("1"))
            #expect(try device.cache.snapshot(id)?["text"] == .string("1"))
        }
        #expect(try await cloud.record("a")?["title"] == .string("1"))
    }

    /// The older title does not win although its device edited the text later.
    @Test(arguments: [[0, 1], [1, 0]])
    func newerTitleWinsOverOlderThoughTextIsNewer(_ order: [Int]) async throws {
        let (cloud, devices) = try await world([0, 0])
        try edit(
            devices, of: cloud, (0, "title", "older"), (1, "title", "newer"), (0, "text", "newest"))
        let events = devices[0].cache.events()
        for number in order + order { try await devices[number].sync() }
        for device in devices {
            #expect(try device.cache.snapshot(id)?["title"] == .string("newer"))
            #expect(try device.cache.snapshot(id)?["text"] == .string("newest"))
        }
        try devices[0].cache.close()
        var overruled: [[String]] = []
        for await event in events {
            if case .editOverruled(_, _, let keys) = event { overruled.append(keys) }
        }
        // A device that syncs first gets the other title as a fetched change; one that syncs later gets a report.
        #expect(overruled == (order == [1, 0] ? [["title"]] : []))
    }

    /// One device deleted the record and created another of its name; an edit of the deleted record is not applied to
    /// it, however late it was made and whichever device syncs first.
    @Test(arguments: [[0, 1], [1, 0]])
    func recreatedRecordHasNoFieldOfTheDeletedOne(order: [Int]) async throws {
        let (cloud, devices) = try await world([0, 0])
        try devices[0].delete("a")
        try devices[0].edit("a", ["title": .string("anew")])
        cloud.pass()
        try devices[1].edit("a", ["title": .string("late"), "colour": .string("late")])
        for number in order + order { try await devices[number].sync() }
        for device in devices {
            let record = try #require(try device.cache.snapshot(id))
            #expect(record["title"] == .string("anew"))
            #expect(record["text"] == nil)
            #expect(record["colour"] == nil)
            #expect(try isQuiet(device))
        }
        // Edits of the new record are merged as usual.
        try devices[0].edit("a", ["text": .string("1")])
        try devices[1].edit("a", ["colour": .string("1")])
        for number in order + order { try await devices[number].sync() }
        #expect(try await cloud.record("a")?["text"] == .string("1"))
        #expect(try await cloud.record("a")?["colour"] == .string("1"))
    }

    /// The same if the service had the deletion before the new record.
    @Test func editOfARecordRecreatedElsewhereIsDiscardedAndReported() async throws {
        let (cloud, devices) = try await world([0, 0])
        try devices[0].delete("a")
        try await devices[0].sync()
        cloud.pass()
        try devices[0].edit("a", ["title": .string("anew")])
        try await devices[0].sync()
        cloud.pass()
        try devices[1].edit("a", ["title": .string("late")])
        try await devices[1].sync()
        #expect(try devices[1].cache.snapshot(id)?["title"] == .string("anew"))
        #expect(try await cloud.record("a")?["title"] == .string("anew"))
        let reports = try await devices[1].cache.reports()
        #expect(
            reports.contains {
                if case .editOfDeletedRecord(let client) = $0.event {
                    client["title"] == "late"
                } else {
                    false
                }
            })
    }

    @Test func editWithoutFieldTimesCountsByModificationDate() async throws {
        let (cloud, devices) = try await world([0, 0])
        let plain = try Device(cloud, resolver: LatestEditWins(editDateKey: nil))
        try await plain.cache.sync()
        try devices[0].edit("a", ["title": .string("before")])
        cloud.pass()
        try plain.edit("a", ["title": .string("plain")])
        try await plain.cache.sync()
        cloud.pass(milliseconds: 60_000)
        try devices[1].edit("a", ["title": .string("after")])
        try await devices[0].sync()
        #expect(try await cloud.record("a")?["title"] == .string("plain"))
        try await devices[1].sync()
        #expect(try await cloud.record("a")?["title"] == .string("after"))
    }

    private static let schemaWithoutTimes =
        "DEFINE SCHEMA RECORD TYPE Item (title STRING, text STRING);"

    @Test func recordsAreSavedWithoutFieldTimesIfTheSchemaHasNone() async throws {
        let cloud = RealService()
        try await cloud.deploy(Self.schemaWithoutTimes)
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.edit("a", ["title": .string("0"), "text": .string("0")])
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await cloud.record("a")?["title"] == .string("0"))
        try await tablet.sync()
        try phone.edit("a", ["title": .string("1")])
        try tablet.edit("a", ["text": .string("1")])
        for device in [phone, tablet, phone] { try await device.sync() }
        for device in [phone, tablet] {
            #expect(try device.cache.snapshot(id)?["title"] == .string("1"))
            #expect(try device.cache.snapshot(id)?["text"] == .string("1"))
            #expect(try await device.cache.attentionItems().isEmpty)
        }
        // A record that is refused for another reason is set aside as usual.
        cloud.refuse("bad", SyncFailure(.invalidArguments))
        try phone.save("bad", "x")
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["bad"])
    }

    @Test func observersAreNotifiedWhenFieldTimesAreRemoved() async throws {
        let cloud = RealService()
        try await cloud.deploy(Self.schemaWithoutTimes)
        let phone = try Device(cloud)
        try phone.edit("a", ["title": .string("0")])
        var changes = phone.cache.changes().makeAsyncIterator()
        try await phone.sync()
        #expect(try phone.cache.snapshot(id)?[FieldWise.defaultFieldTimesKey] == nil)
        try phone.cache.close()
        #expect(await changes.next()?.map(\.recordName) == ["a"])
    }

    /// With any edits, any order of syncs, lost answers and any clocks, every device has the last edit of each field.
    @Test(arguments: Seeds.forTest("FieldWiseTests", count: 40))
    func lastEditOfEachFieldWinsInAnyOrder(_ seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let hour: Int64 = 3_600_000
        let skews = (0..<3).map { _ in Int64.random(in: -5 * hour...5 * hour, using: &random) }
        let (cloud, devices) = try await world(skews)
        for device in devices { try await device.sync() }
        var expected: [String: FieldValue] = ["title": .string("0"), "text": .string("0")]
        for step in 0..<30 {
            cloud.pass(milliseconds: 60_000)
            let device = devices[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<8, using: &random) {
            case 0...4:
                let name = Self.names[Int.random(in: 0..<3, using: &random)]
                let isRemoval = Int.random(in: 0..<6, using: &random) == 0
                let value = isRemoval ? nil : FieldValue.string("\(step)")
                guard try device.cache.snapshot(id)?[name] != value else { continue }
                try device.edit("a", [name: value])
                expected[name] = value
            case 5:
                device.link.fail(call: Int.random(in: 0..<4, using: &random), .answerLost)
                // A change whose sync fails is sent below.
                try? await device.cache.sync()
            default: try? await device.cache.sync()
            }
        }
        for _ in 0..<3 {
            for device in devices.shuffled(using: &random) { try await device.sync() }
        }
        for device in devices {
            let record = try #require(try device.cache.snapshot(id))
            for name in Self.names {
                #expect(record[name] == expected[name], "\(name), seed \(seed)")
            }
            #expect(try isQuiet(device), "seed \(seed)")
            #expect(try await cloud.record("a")?.fields == record.fields, "seed \(seed)")
        }
    }
}
