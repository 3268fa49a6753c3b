import StratusRecords
import StratusService
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Promise P2: fetching from any valid token to the end yields exactly the zone's state.
@Suite struct FeedPropertyTests {
    /// A device that knows a zone only through its feed.
    private struct Follower {
        let person: Person
        var records: [String: Int64] = [:]
        var token: String?

        mutating func catchUp(pageLength: Int) async throws {
            while true {
                guard let page = try await page(pageLength) else { continue }
                for result in page.records {
                    let name = try #require(result.name)
                    if case .int64(let number) = result.values["beds"] {
                        records[name] = number
                    } else {
                        records[name] = nil
                    }
                }
                token = page.syncToken
                if !page.moreComing { return }
            }
        }

        /// nil if the token expired: then everything is fetched again.
        private mutating func page(_ length: Int) async throws -> ChangesZone.Page? {
            do {
                return try await person.page("Trips", since: token, limit: length)
            } catch let error as ServiceError where error.code == .changeTokenExpired {
                #expect(token != nil)
                token = nil
                records = [:]
                return nil
            }
        }
    }

    /// Promise P8 too: a deleted record does not come back on any device, even if its tombstone was purged.
    @Test(arguments: Seeds.forTest("FeedPropertyTests", count: 8))
    func fetchedRecordsEqualTheModel(_ seed: UInt64) async throws {
        var numbers = SeededNumbers(seed: seed)
        let alice = try await World().person("alice", with: "Trips")
        var model: [String: Int64] = [:]
        var followers = (0..<3).map { Follower(person: alice.at("follower-\($0)")) }
        for step in 0..<120 {
            alice.world.advance(seconds: 1)
            switch Int.random(in: 0..<11, using: &numbers) {
            case 10:
                _ = try await alice.world.service.purgeTombstones(
                    olderThanSeconds: Double.random(in: 0...9, using: &numbers))
            case 0..<6:
                try await save(step, from: alice, &model, &numbers)
            case 6..<9:
                let index = followers.indices.randomElement(using: &numbers) ?? 0
                try await followers[index].catchUp(
                    pageLength: Int.random(in: 1...5, using: &numbers))
                #expect(followers[index].records == model, "seed \(seed), step \(step)")
            default:
                // A new device, or one that lost everything.
                let index = followers.indices.randomElement(using: &numbers) ?? 0
                followers[index] = Follower(person: alice.at("follower-\(index)"))
            }
        }
        for index in followers.indices {
            try await followers[index].catchUp(pageLength: 3)
            #expect(followers[index].records == model, "seed \(seed), follower \(index)")
        }
    }

    /// One request with saves, deletions and, now and then, an operation that fails.
    private func save(
        _ step: Int, from person: Person, _ model: inout [String: Int64],
        _ numbers: inout SeededNumbers
    ) async throws {
        let names = Set(
            (0..<Int.random(in: 1...4, using: &numbers)).map { _ in
                "r\(Int.random(in: 0..<12, using: &numbers))"
            }
        ).sorted()
        var expected = model
        let operations = names.map { name in
            let number = Int64.random(in: 0..<1000, using: &numbers)
            if Int.random(in: 0..<3, using: &numbers) == 0 {
                expected[name] = nil
                return hut(.forceDelete, name)
            }
            expected[name] = number
            return hut(.forceUpdate, name, [beds(number)])
        }
        if Int.random(in: 0..<4, using: &numbers) == 0 {
            let failing = hut(.update, "nobody", [beds(1)], tag: "1.abcd")
            let refusal = await person.refusal(
                RecordsModify.self,
                .init(operations: operations + [failing], zoneID: zone("Trips")))
            #expect(refusal?.error.code == .atomicError)
            return
        }
        let results = try await person.modify(operations, in: "Trips")
        #expect(results.allSatisfy { $0.failed == nil })
        model = expected
    }
}
