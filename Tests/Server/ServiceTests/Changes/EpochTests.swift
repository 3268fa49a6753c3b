import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// What devices are told after a copy of the data took the place of the data: nothing is missed in
/// silence, and what is intact goes on.
@Suite struct EpochTests {
    /// The ten lost changes of a device and the new ones have the same versions.
    @Test func forgottenRestoreExpiresTokensOfLostHistory() async throws {
        let folder = try CopiedFolder()
        var opened = try folder.open()
        var alice = try await opened.world.person("alice")
        try await alice.makeZone("Trips")
        try await alice.modify([hut(.create, "first")], in: "Trips")
        let intact = try await alice.page("Trips").syncToken
        let intactDatabase = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        try await opened.storage.close()
        let copy = try folder.copy()

        opened = try folder.open()
        alice = try await opened.world.person("alice")
        for number in 0..<10 {
            try await alice.modify([hut(.create, "lost\(number)")], in: "Trips")
        }
        let lost = try await alice.page("Trips", since: intact).syncToken
        let lostDatabase = try await alice.ask(
            ChangesDatabase.self, .init(syncToken: intactDatabase)
        ).syncToken
        try await opened.storage.close()

        // A copy is put back, and nobody runs `stratus restored`.
        try folder.replace(by: copy)
        opened = try folder.open()
        alice = try await opened.world.person("alice")
        for number in 0..<12 { try await alice.modify([hut(.create, "new\(number)")], in: "Trips") }
        guard case .failure(let failure) = try await alice.changes("Trips", since: lost) else {
            Issue.record("A token of the lost history was taken.")
            return
        }
        #expect(failure.error.code == .changeTokenExpired)
        let refusal = await alice.refusal(ChangesDatabase.self, .init(syncToken: lostDatabase))
        #expect(refusal?.error.code == .changeTokenExpired)
        #expect(try await alice.page("Trips").records.count == 13)

        // What is intact goes on.
        let page = try await alice.page("Trips", since: intact)
        #expect(page.records.compactMap(\.name) == (0..<12).map { "new\($0)" })
        let zones = try await alice.ask(ChangesDatabase.self, .init(syncToken: intactDatabase))
        #expect(zones.zones.count == 1)
        try await opened.storage.close()
    }
}
