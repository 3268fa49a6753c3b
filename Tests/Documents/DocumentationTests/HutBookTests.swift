import CloudKit
import Foundation
import StratusTesting
import StratusWire
import Testing

@testable import Huts

@Suite struct HutBookTests {
    let cloud = TestCloud()

    func book(_ user: String, on device: String) async throws -> HutBook {
        let book = HutBook(
            container: try await cloud.container(
                "iCloud.org.example.Huts", user: user, device: device))
        try await book.open()
        return book
    }

    @Test func savedHutReachesOwnersOtherDevice() async throws {
        let phone = try await book("ida@example.org", on: "phone")
        let tablet = try await book("ida@example.org", on: "tablet")
        try await phone.save(phone.makeHut("Gipfelblick", beds: 24))
        #expect(try await tablet.huts().map { $0["name"] } == ["Gipfelblick"])
    }

    @Test func participantEditsSharedHut() async throws {
        let ida = try await book("ida@example.org", on: "Ida's phone")
        let bo = try await book("bo@example.org", on: "Bo's phone")
        let hut = try await ida.save(ida.makeHut("Gipfelblick", beds: 24))
        #expect(try await bo.huts().isEmpty)

        let link = try #require(try await ida.share(hut, with: "bo@example.org"))
        try await bo.join(link)
        let shared = try #require(try await bo.huts().first)
        shared["beds"] = 26
        try await bo.save(shared)
        #expect(try await ida.huts().map { $0["beds"] } == [26])
    }

    @Test func conflictKeepsEditsOfBothDevices() async throws {
        let phone = try await book("ida@example.org", on: "phone")
        let tablet = try await book("ida@example.org", on: "tablet")
        let onPhone = try await phone.save(phone.makeHut("Gipfelblick", beds: 24))
        let onTablet = try #require(try await tablet.huts().first)
        onPhone["name"] = "Alpenrose"
        onTablet["beds"] = 26
        try await phone.save(onPhone)
        try await tablet.save(onTablet)  // a conflict
        let hut = try #require(try await phone.huts().first)
        #expect(hut["name"] == "Alpenrose")
        #expect(hut["beds"] == 26)
    }

    @Test func retryAfterLostAnswerSavesOneHut() async throws {
        let phone = try await book("ida@example.org", on: "phone")
        let hut = phone.makeHut("Gipfelblick", beds: 24)
        cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
        await #expect(throws: CKError(.serverResponseLost)) { try await phone.save(hut) }
        try await phone.save(hut)
        #expect(try await phone.huts().count == 1)
        #expect(cloud.faults.remaining.isEmpty)
    }

    @Test func throttledSaveWaitsForRetryAfter() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = HutBook(
            container: try await cloud.container(
                "iCloud.org.example.Huts", user: "ida@example.org", device: "phone"),
            sleep: { try await clock.sleep(seconds: $0) })
        try await phone.open()
        cloud.faults.next(of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 3_600))

        async let saved = phone.save(phone.makeHut("Gipfelblick", beds: 24))
        await clock.waitForSleeper(seconds: 3_600)
        #expect(try await phone.huts().isEmpty)
        clock.advance(bySeconds: 3_600)
        #expect(try await saved.modificationDate == clock.now)
    }
}
