import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A new record's save arrived without an answer, and a restore lost it before this device knew. The record is deleted
/// on this device; another device, which had fetched it, sends it again.
@Suite(.timeLimit(.minutes(20))) struct UnansweredDeletionTests {
    /// What this device does between the unanswered save and the return of the record.
    enum Course: CaseIterable {
        case deleted, edited, othersEdited, notFound, recreated
    }

    /// The service commits the pending change, or never gets it, and the process ends before the answer.
    private func sendAndDie(_ phone: Device, arrives: Bool = true) async throws {
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        #expect(!batch.isEmpty)
        if arrives { _ = try await phone.remote.send(batch, isAtomic: false, operationID: "sent") }
        try phone.restart()
    }

    @Test(arguments: Course.allCases)
    func recordSentAgainElsewhereAfterRestoreStaysDeleted(_ course: Course) async throws {
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
        if course == .recreated {
            try phone.save("new", "another")
            try await phone.sync()
            cloud.pass()
            try phone.delete("new")
        }
        try await phone.sync()
        try await tablet.sync()
        try await cloud.expectTexts(["a": "1"], on: phone, tablet)
        let isReported = try await phone.cache.reports().contains {
            if case .changesLost(_, _, let deletedAgain) = $0.event {
                deletedAgain.map(\.recordName) == ["new"]
            } else {
                false
            }
        }
        // The recreated record was deleted at the service.
        #expect(isReported == (course != .recreated))
    }

    /// Another device created its own record of that name, with an earlier date than this one.
    @Test(arguments: [true, false])
    func recordCreatedElsewhereUnderTheSameNameStays(_ arrives: Bool) async throws {
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
