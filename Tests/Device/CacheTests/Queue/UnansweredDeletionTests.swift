import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A new record whose save arrived without an answer, and was lost in a restore before this device knew. It is deleted here;
/// another device, which had fetched it, sends it again.
@Suite(.timeLimit(.minutes(20))) struct UnansweredDeletionTests {
    /// What this device does between the save without an answer and the return of the record.
    enum Course: CaseIterable {
        case deleted, edited, othersEdited, notFound, madeAnew
    }

    /// The service commits what is pending, or it never gets there, and the process dies before it hears so.
    private func sendAndDie(_ phone: Device, arrives: Bool = true) async throws {
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        #expect(!batch.isEmpty)
        if arrives { _ = try await phone.remote.send(batch, isAtomic: false, operationID: "sent") }
        try phone.restart()
    }

    @Test(arguments: Course.allCases)
    func recordThatOthersSendAgainAfterALossStaysDeleted(_ course: Course) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try phone.edit("new", ["text": .string("1"), "size": .int64(1)])
        try await sendAndDie(phone)
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "new": "1"])
        cloud.pass()
        if course == .edited { try phone.edit("new", ["text": .string("2"), "size": nil]) }
        if course == .othersEdited { try tablet.save("new", "2") }
        try cloud.restore(copy)
        if course == .notFound {
            phone.link.fail("send", 0, .requestLost(SyncFailure(.networkUnavailable)))
            await #expect(throws: CacheError.self) { try await phone.cache.sync() }
            #expect(try await cloud.names() == ["a"])
        }
        try phone.delete("new")
        if course == .madeAnew {
            try phone.save("new", "another")
            try await phone.sync()
            cloud.pass()
            try phone.delete("new")
        }
        try await phone.sync()
        try await tablet.sync()
        for device in [phone, tablet] {
            try await device.sync()
            #expect(try device.texts() == ["a": "1"])
        }
        #expect(try await cloud.names() == ["a"])
        let isReported = try await phone.cache.reports().contains {
            if case .changesLost(_, _, let deletedAgain) = $0.event {
                deletedAgain.map(\.recordName) == ["new"]
            } else {
                false
            }
        }
        // The one that was made anew has been deleted at the service.
        #expect(isReported == (course != .madeAnew))
    }

    /// Another device made a record of that name by itself, even before this one by the clock.
    @Test(arguments: [true, false])
    func recordThatOthersMadeThemselvesStays(_ arrives: Bool) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try tablet.save("settings", "mine")
        cloud.pass()
        try phone.save("settings", "1")
        try await sendAndDie(phone, arrives: arrives)
        try cloud.restore(copy)
        try phone.delete("settings")
        try await phone.sync()
        for device in [tablet, phone] {
            try await device.sync()
            #expect(try device.texts() == ["a": "1", "settings": "mine"])
        }
    }
}
