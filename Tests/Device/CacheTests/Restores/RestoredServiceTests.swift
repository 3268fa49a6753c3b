import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// An older copy of the service's data was restored: what devices know of the lost history is neither overwritten nor
/// forgotten, and deleted records stay deleted.
@Suite(.timeLimit(.minutes(20))) struct RestoredServiceTests {
    /// Two devices that both have records of these names, with the text "1".
    private func devices(
        _ names: [String], resolver: (any ConflictResolver)? = nil
    ) async throws -> (cloud: RealService, phone: Device, tablet: Device) {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches, resolver: resolver)
        let tablet = try Device(cloud, resolver: resolver)
        for name in names { try phone.save(name, "1") }
        try await phone.sync()
        try await tablet.sync()
        return (cloud, phone, tablet)
    }

    /// Both devices have a save that the cloud has lost.
    private func devicesThatLost(
        _ name: String, _ text: String
    ) async throws -> (cloud: RealService, phone: Device, tablet: Device) {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try await cloud.lose(on: phone, tablet) { try phone.save(name, text) }
        return (cloud, phone, tablet)
    }

    /// The lost changes that were reported to the app.
    private func lost(_ device: Device) throws -> [String] {
        var lost: [String] = []
        for report in try device.cache.reports() {
            guard case .changesLost(let zone, let sentAgain, let deletedAgain) = report.event
            else { continue }
            #expect(ZoneID(zone) == .list)
            lost += sentAgain.map { "\($0.recordName) sent" }
            lost += deletedAgain.map { "\($0.recordName) deleted" }
        }
        return lost.sorted()
    }

    @Test func lostEditIsSentAgainAndReported() async throws {
        let (cloud, phone, tablet) = try await devicesThatLost("a", "2")
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "2", "b": "1"])
        #expect(try await cloud.record("a")?["text"] == .string("2"))
        #expect(try lost(tablet) == ["a sent"])
        // The device that made the edit finds it at the service.
        let saveCount = cloud.saveCount
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "b": "1"])
        #expect(cloud.saveCount == saveCount)
        #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    /// A conflict returns a state that the service may lose before the next fetch, like the answer to a save. It may be
    /// this device's own save, whose answer was lost.
    @Test func changeTagOfAConflictIsCheckedAtTheNextFetch() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try tablet.save("a", "2")
        try await tablet.sync()
        try phone.save("a", "2")
        let store = phone.cache.store
        let batch = try store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        let server = try #require(try await cloud.record("a"))
        _ = try store.confirm(
            batch,
            [.failed(SyncFailure(.serverRecordChanged, message: "Changed."), server: server)],
            [.conflict])
        #expect(try store.sentTags(of: .list) == [server.system?.changeTag])
    }

    /// The process ends when an edit of a lost record is refused, before the zone's changes arrive, so it is refused
    /// twice.
    @Test func editOfLostRecordRefusedTwiceIsSentAgain() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        try await cloud.lose(on: phone, tablet) { try phone.save("b", "1") }
        try phone.save("b", "2")
        let failure = SyncFailure(.unknownItem, message: "There is no such record.")
        for _ in 0..<2 {
            let batch = try phone.cache.store.nextBatch(itemLimit: 9, bytesLimit: 1_000_000)
            _ = try phone.cache.store.confirm(
                batch, [.failed(failure, server: nil)], [.deletedElsewhere])
        }
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1", "b": "2"])
        #expect(try await cloud.names() == ["a", "b"])
    }

    @Test func lostRecordIsSentAgainAndDeletedOneStaysDeleted() async throws {
        let (cloud, _, tablet) = try await devicesThatLost("new", "1")
        let other = try Device(cloud)
        try await other.sync()
        try other.delete("b")
        try await other.sync()
        try await cloud.purgeTombstones()
        try await tablet.sync()
        #expect(try await cloud.names() == ["a", "new"])
        #expect(try tablet.texts() == ["a": "1", "new": "1"])
        #expect(try lost(tablet) == ["new sent"])
        let missing = try await tablet.cache.reports().compactMap { report -> [String]? in
            guard case .recordsMissing(let records) = report.event else { return nil }
            return records.map(\.recordID.recordName)
        }
        #expect(missing == [["b"]])
    }

    @Test func lostDeletionIsRepeated() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try await cloud.lose(on: phone, tablet) { try phone.delete("b") }
        try await tablet.sync()
        #expect(try await cloud.names() == ["a"])
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try lost(tablet) == ["b deleted"])
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
    }

    /// The phone has sent a lost record again. The tablet deletes the lost record and sends the deletion before it
    /// learns of the loss: the record at the service looks like another one of its name.
    @Test func deletionOfLostRecordSentAgainElsewhereStands() async throws {
        let (cloud, phone, tablet) = try await devices(["b"])
        try await cloud.lose(on: phone, tablet) { try phone.save("a", "1") }
        cloud.pass()
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b"])
        try tablet.delete("a")
        let callCount = tablet.link.callNames.count
        try await tablet.sync()
        // The first request is the send.
        #expect(tablet.link.callNames.dropFirst(callCount).first == "send")
        try await phone.sync()
        #expect(try await cloud.names() == ["b"])
        #expect(try tablet.texts() == ["b": "1"])
        #expect(try phone.texts() == ["b": "1"])
        #expect(try tablet.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    /// The repeated deletion applies to the former record of the name. The later record was lost, but no device deleted
    /// it.
    @Test func lostRecreatedRecordSurvivesRepeatedDeletionOfItsPredecessor() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let copy = try cloud.copy()
        try phone.delete("a")
        try await phone.sync()
        try await tablet.sync()
        cloud.pass()
        try tablet.save("a", "anew")
        try await tablet.sync()
        try cloud.restore(copy)
        // The phone has not fetched the new record.
        try await phone.sync()
        #expect(try await cloud.names() == ["b"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "anew", "b": "1"])
        #expect(try lost(tablet) == ["a sent"])
        try await phone.sync()
        #expect(try phone.texts() == ["a": "anew", "b": "1"])
        #expect(try await cloud.names() == ["a", "b"])
    }

    /// A record was recreated before the copy, an edit of it is lost, and it is deleted after the restore: a device
    /// that still has the edit does not take this for the deletion of the former record.
    @Test func recreatedRecordDeletedAfterRestoreStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let watch = try Device(cloud)
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "anew")
        for device in [phone, tablet, watch] { try await device.sync() }
        try await cloud.lose(on: phone, watch) { try phone.save("a", "lost") }
        cloud.pass()
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "lost", "b": "1"])
        try tablet.delete("a")
        for device in [tablet, watch, phone, tablet] { try await device.sync() }
        #expect(try await cloud.names() == ["b"])
        for device in [phone, tablet, watch] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// Without a loss, the record that a deletion finds is another one and stays.
    @Test func deletionKeepsRecordRecreatedElsewhere() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "another")
        try await phone.sync()
        try tablet.delete("a")
        try await tablet.sync()
        #expect(try await cloud.names() == ["a", "b"])
        #expect(try tablet.texts() == ["a": "another", "b": "1"])
        #expect(try tablet.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    /// The phone deletes a record and recreates it twice before it sends. The tablet, which once learned of a loss,
    /// deletes the first record.
    @Test func recordRecreatedTwiceSurvivesDeletionOfTheFirst() async throws {
        let (cloud, phone, tablet) = try await devicesThatLost("b", "2")
        for device in [tablet, phone] { try await device.sync() }
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "second")
        try await cloud.recreate("a", "third", on: phone, deletedOn: tablet)
        #expect(try await cloud.texts() == ["a": "third", "b": "2"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["a": "third", "b": "2"])
        }
    }

    /// The deletion of the first record is lost and repeated, and in between the phone sends its third record of the
    /// name.
    @Test func recordRecreatedTwiceSurvivesRepeatedDeletionOfTheFirst() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let copy = try cloud.copy()
        try phone.delete("a")
        for device in [phone, tablet] { try await device.sync() }
        cloud.pass()
        try phone.save("a", "second")
        try phone.delete("a")
        cloud.pass()
        try phone.save("a", "third")
        try cloud.restore(copy)
        tablet.link.beforeNextSend { try await phone.sync() }
        for device in [tablet, phone, tablet] { try await device.sync() }
        #expect(try await cloud.texts() == ["a": "third", "b": "1"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["a": "third", "b": "1"])
        }
    }

    /// The phone's deletion is lost, and the tablet's is sent; the phone's next record was sent but did not arrive.
    @Test(arguments: [false, true])
    func unansweredRecreatedRecordSurvivesDeletionOfItsPredecessor(isMet: Bool) async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let copy = try cloud.copy()
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "second")
        _ = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try phone.restart()
        try cloud.restore(copy)
        try tablet.delete("a")
        if isMet {
            phone.link.beforeNextSend { try await tablet.sync() }
            try await phone.sync()
        }
        for device in [tablet, phone, tablet] { try await device.sync() }
        #expect(try await cloud.texts() == ["a": "second", "b": "1"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["a": "second", "b": "1"])
        }
    }

    /// The phone deletes a lost record before sending it again, and recreates it; the tablet deletes the lost one.
    @Test func recordRecreatedInPlaceOfALostOneSurvivesItsDeletion() async throws {
        let (cloud, phone, tablet) = try await devicesThatLost("a", "2")
        try await cloud.lose(on: phone, tablet) { try phone.save("new", "1") }
        phone.link.fail("send", 0, .requestLost(SyncFailure(.networkUnavailable)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        let waiting = try phone.cache.store.pendingIDs(limit: 100).map(\.name)
        #expect(waiting.contains("new"))
        try await cloud.recreate("new", "anew", on: phone, deletedOn: tablet)
        #expect(try await cloud.texts()["new"] == "anew")
        for device in [phone, tablet] { #expect(try device.text("new") == "anew") }
    }

    /// Edited before and after the restore: the resolver decides, and the losing edit is reported.
    @Test func lostEditAndLaterEditAreResolvedAsConflict() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try await cloud.lose(on: phone, tablet) {
            for name in ["a", "b"] { try phone.save(name, "lost") }
        }
        cloud.pass()
        let other = try Device(cloud)
        try await other.sync()
        try other.save("a", "later")
        try await other.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "later", "b": "lost"])
        #expect(try await cloud.record("b")?["text"] == .string("lost"))
        #expect(try lost(tablet) == ["b sent"])
        let overruled = try await tablet.cache.reports().compactMap { report -> [String?]? in
            guard case .editOverruled(let client, let server, ["text"]) = report.event else {
                return nil
            }
            return [client["text"], server["text"]]
        }
        #expect(overruled == [["lost", "later"]])
    }

    /// Fields that the pending edit does not touch have the values of the lost edit, not of the copy.
    @Test func pendingEditOfLostRecordKeepsItsOtherFields() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let copy = try cloud.copy()
        try phone.save("a", "2")
        try phone.save("new", "1")
        try await phone.sync()
        try await tablet.sync()
        for name in ["a", "new"] {
            try tablet.cache.save(
                [
                    LocalEdit(
                        id: RecordID(name: name, zoneID: .list), type: "Item",
                        changes: [Field(name: "note", value: .string("n"))])
                ], in: .private)
        }
        try cloud.restore(copy)
        try await tablet.sync()
        for (name, text) in ["a": "2", "new": "1"] {
            #expect(try await cloud.record(name)?["text"] == .string(text))
            #expect(try await cloud.record(name)?["note"] == .string("n"))
        }
        #expect(try tablet.texts() == ["a": "2", "new": "1"])
        #expect(try lost(tablet) == ["a sent", "new sent"])
    }

    /// Whichever device is first, the owner's device restores the record and the participant's device the edit.
    @Test(arguments: [true, false])
    func participantsEditOfLostRecordStays(isFirst: Bool) async throws {
        let cloud = RealService()
        let list = try await cloud.share(.list, of: "alice", with: "bob")
        let owner = try Device(cloud)
        let guest = try Device(cloud, user: "bob", scope: .shared)
        try owner.save("b", "1")
        try await owner.sync()
        try await guest.sync()
        let copy = try cloud.copy()
        try owner.save("a", "1")
        try await owner.sync()
        try await guest.sync()
        try guest.save("a", "2", zone: list)
        try cloud.restore(copy)
        for device in isFirst ? [guest, owner] : [owner, guest] { try await device.sync() }
        for (device, zone) in [(owner, ZoneID.list), (guest, list)] {
            try await device.sync()
            #expect(try device.texts(zone: zone) == ["a": "2", "b": "1"])
        }
        #expect(try await cloud.record("a")?["text"] == .string("2"))
    }

    /// The last intact version is kept until the full fetch has ended, even if the process ends.
    @Test func restartAtAnyRequestAfterRestoreLosesNothing() async throws {
        let callCount = try await restoredStory(cutAt: nil)
        #expect(callCount > 6)
        for number in 0..<callCount {
            try await restoredStory(cutAt: (number, .answerLost))
            try await restoredStory(
                cutAt: (number, .requestLost(SyncFailure(.networkFailure))))
        }
    }

    /// - Returns: The number of requests.
    @discardableResult
    private func restoredStory(cutAt cut: (number: Int, fault: ServiceLink.Fault)?) async throws
        -> Int
    {
        let (cloud, phone, tablet) = try await devices(["a", "b", "c", "d", "e", "f"])
        try await cloud.lose(on: phone, tablet) {
            for name in ["a", "e"] { try phone.save(name, "2") }
            try phone.save("new", "1")
            try phone.delete("f")
        }
        let callCount = tablet.link.callNames.count
        if let cut { tablet.link.fail(call: cut.number, cut.fault) }
        do { try await tablet.cache.sync() } catch {
            // The process ends here and is restarted.
            try tablet.restart()
            try await tablet.sync()
        }
        let outcome = ["a": "2", "b": "1", "c": "1", "d": "1", "e": "2", "new": "1"]
        let place = "cut at request \(cut?.number ?? -1)"
        #expect(try tablet.texts() == outcome, "\(place)")
        #expect(try await cloud.names() == outcome.keys.sorted(), "\(place)")
        #expect(
            try lost(tablet) == ["a sent", "e sent", "f deleted", "new sent"], "\(place)")
        #expect(try tablet.cache.store.pendingIDs(limit: 100).isEmpty, "\(place)")
        return tablet.link.callNames.count - callCount
    }
}
