import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Testing

@testable import StratusCache

/// A device corrects its clock with the service's time in each answer.
@Suite(.timeLimit(.minutes(20))) struct ServiceClockTests {
    private static let hours: Int64 = 6 * 3_600_000

    /// The edit was made before the first answer, with a clock that is ahead: it still counts as the earlier edit.
    @Test func editTimeBeforeTheFirstAnswerIsCorrectedBeforeSending() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(
            cloud, "phone", time: TestTime(skewMilliseconds: Self.hours - 60_000))
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.save("a", "earlier")
        // A minute passes.
        phone.time.advance(milliseconds: 60_000)
        try tablet.save("a", "later")
        for device in [phone, tablet, phone] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["a": "later"]) }
    }

    /// The process ends before the answer to its first save.
    @Test(arguments: [-1, 1] as [Int64])
    func clockOffsetIsKnownAlthoughTheFirstSaveWasUnanswered(sign: Int64) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(
            cloud, "phone", time: TestTime(skewMilliseconds: sign * Self.hours))
        try phone.save("a", "1")
        // Read before the sync, which may take long on a busy machine.
        let saved = phone.time.world.nowMilliseconds()
        cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        try phone.restart()
        let offset = phone.cache.store.clock.offsetMilliseconds
        #expect(abs(offset + sign * Self.hours) < 60_000)
        let times = FieldTimes(
            try phone.cache.snapshot(RecordID(name: "a", zoneID: .list))?[
                FieldWise.defaultFieldTimesKey])
        let edited = try #require(times.newestMilliseconds)
        #expect(abs(edited - saved - offset) < 60_000)
    }

    /// A second process opened the file before the first answer, and edits after another process has had it.
    @Test func clockOffsetIsSharedBetweenProcesses() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(
            cloud, "phone", time: TestTime(skewMilliseconds: -Self.hours))
        let tablet = try await CloudDevice(cloud, "tablet")
        let widget = try CloudCache(
            path: phone.path, container: CloudDevice.container(phone.connection),
            settings: .quick, world: phone.time.world)
        try phone.save("a", "1")
        for device in [phone, tablet] { try await device.cache.sync() }
        try tablet.save("a", "earlier")
        try await tablet.cache.sync()
        phone.time.advance(milliseconds: 60_000)
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let record = try await #require(try widget.record(for: id))
        record["text"] = "later"
        try await widget.save(record)
        for device in [phone, tablet] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["a": "later"]) }
        try widget.close()
    }

    /// A refusal contains the service's time too.
    @Test func refusedRequestSetsTheClockOffset() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(
            cloud, "phone", time: TestTime(skewMilliseconds: Self.hours))
        cloud.faults.next(of: UsersCaller.self, .answer(.badRequest))
        await #expect(throws: (any Error).self) { try await phone.cache.sync() }
        #expect(abs(phone.cache.store.clock.offsetMilliseconds + Self.hours) < 60_000)
    }

    /// The correction is narrowed by answers in whole seconds and in milliseconds.
    @Test func clockOffsetIsNarrowedByQuickerAnswers() {
        let time = TestTime()
        let clock = ServiceClock(time.world, offsetMilliseconds: nil)
        // The device's clock shows 0; the service's time is 5 s, in whole seconds.
        clock.receive(AnswerTime(milliseconds: 5_000, stepMilliseconds: 1_000))
        #expect(clock.applyCorrection() == 5_499)
        clock.receive(AnswerTime(milliseconds: 5_400, elapsedMilliseconds: 50))
        #expect(clock.applyCorrection() == 5_425)
        // An answer that took longer does not narrow it.
        clock.receive(AnswerTime(milliseconds: 5_300, elapsedMilliseconds: 900))
        #expect(!clock.isToBeKept)
        clock.receive(AnswerTime(milliseconds: 5_200, elapsedMilliseconds: 100))
        #expect(clock.applyCorrection() == 5_250)
    }

    @Test func shiftOfFieldTimesKeepsCountsAndPlaces() {
        let key = FieldWise.defaultFieldTimesKey
        let rules: [String: FieldRule] = ["stock": .editCount, "steps": .sequence]
        var record = RecordSnapshot(id: RecordID(name: "a", zoneID: .list), type: "Item")
        record["title"] = .string("1")
        record["stock"] = .int64(3)
        record["steps"] = .stringList(["x", "y"])
        var later = record
        record.stampFieldTimes(in: key, over: nil, at: 1_000, rules: rules)
        later.stampFieldTimes(in: key, over: nil, at: 3_500, rules: rules)
        record.shiftFieldTimes(in: key, by: 2_500, rules: rules)
        #expect(FieldTimes(record[key]) == FieldTimes(later[key]))
    }

    /// The correction is not in the file any more, so it must not be in memory either.
    @Test func clockIsCorrectedOnceAfterASignOut() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(
            cloud, "phone", time: TestTime(skewMilliseconds: -Self.hours))
        try phone.save("a", "1")
        try await phone.cache.sync()
        _ = try await phone.cache.signOut(.remove)
        try phone.save("b", "1")
        let saved = phone.time.world.nowMilliseconds()
        try await phone.cache.adoptLocalRecords()
        try await phone.cache.sync()
        let times = FieldTimes(
            try phone.cache.snapshot(RecordID(name: "b", zoneID: .list))?[
                FieldWise.defaultFieldTimesKey])
        let edited = try #require(times.newestMilliseconds)
        #expect(abs(edited - saved - Self.hours) < 60_000)
        try phone.restart()
        #expect(abs(phone.cache.store.clock.offsetMilliseconds - Self.hours) < 60_000)
    }
}
