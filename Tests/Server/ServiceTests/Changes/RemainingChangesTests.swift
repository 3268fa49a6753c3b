import StratusRecords
import StratusWire
import Testing

@testable import StratusService

/// How many changes remain after a page.
@Suite struct RemainingChangesTests {
    @Test func pageHasUpperBoundOfRemainingChanges() async throws {
        let alice = try await World().person("alice")
        try await alice.makeZone("Trips")
        for number in 0..<5 { try await alice.modify([hut(.create, "\(number)")], in: "Trips") }
        var left: [Int64?] = []
        var token: String?
        for _ in 0..<5 {
            let page = try await alice.page("Trips", since: token, limit: 1)
            left.append(page.remainingChanges)
            token = page.syncToken
        }
        #expect(left == [4, 3, 2, 1, nil], "exact if no record was changed twice")
        let plain = try await alice.elsewhere.page("Trips", limit: 1)
        #expect(plain.moreComing && plain.remainingChanges == nil, "an extension")
        // Overwritten changes count too, so the number is an upper bound.
        try await alice.modify([hut(.forceUpdate, "0", [beds(1)])], in: "Trips")
        let first = try await alice.page("Trips", limit: 1)
        #expect(first.records.map(\.name) == ["1"] && (first.remainingChanges ?? 0) >= 4)
    }
}
