import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// A zone's change token expires while a save of a new record has no answer.
@Suite(.timeLimit(.minutes(20))) struct ExpiredTokenTests {
    private let folder: RestoredFolder

    init() throws { folder = try RestoredFolder() }

    /// The phone has fetched the zone, saves "a" into it without an answer, and ends.
    private func sendUnanswered(arrives: Bool) async throws {
        try await folder.save("b", on: "phone", isFetched: true)
        try await folder.sync("tablet")
        try await folder.run("phone") { cloud in
            cloud.leaveSaveUnanswered(arrives: arrives)
        } _: { phone in
            try phone.save("a", "1")
            await #expect(throws: CacheError.self) { try await phone.sync() }
        }
    }

    private func expect(_ texts: [String: String]) async throws {
        try await folder.run("phone") { cloud in
            cloud.next(of: ChangesZone.self, .expireChangeTokens)
        } _: { phone in
            try await phone.sync()
            #expect(try phone.texts() == texts)
        }
        try await folder.expect(texts, on: "tablet", "laptop")
    }

    /// - Parameter arrives: Whether the save arrived, and another device has deleted the record since.
    @Test(arguments: [false, true])
    func unansweredSaveIsNeitherLostNorDuplicated(arrives: Bool) async throws {
        try await sendUnanswered(arrives: arrives)
        try await folder.run("tablet") { tablet in
            try await tablet.sync()
            try tablet.save("c", "1")
            if arrives { try tablet.delete("a") }
            try await tablet.sync()
        }
        try await expect(arrives ? ["b": "1", "c": "1"] : ["a": "1", "b": "1", "c": "1"])
    }

    /// The records were deleted with the zone, and their own deletions are not reported.
    @Test func unansweredSaveStaysDeletedWithItsZone() async throws {
        try await sendUnanswered(arrives: true)
        try await folder.run("tablet") { tablet in
            try await tablet.sync()
            try await tablet.deleteZone(CKRecordZone.ID.list)
            try await tablet.sync()
            try tablet.save("c", "1")
            try await tablet.sync()
        }
        try await expect(["c": "1"])
    }
}
