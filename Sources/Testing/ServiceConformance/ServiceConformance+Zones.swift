import StratusClient
import StratusRecords
import StratusWire

extension ServiceConformance {
    static let zones: [Case] = [
        Case("every user has the default zone, and zones of their own") { stage in
            let (alice, bob) = try await stage.aliceAndBob()
            try await alice.makeZone("Trips")
            try expect(try await names(of: alice), equals: ["Trips", "_defaultZone"])
            try expect(try await names(of: bob), equals: ["_defaultZone"])
        },
        Case("creating a zone twice and deleting a missing one succeed") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("hut")
            try await alice.makeZone("Trips")
            _ = try await alice.lookup(["hut"])[0].asRecord()
            try await alice.deleteZone("Nothing")
        },
        Case("a missing zone fails each record") { stage in
            let alice = try await stage.person("alice")
            let saved = try await alice.modify([.saving("a"), .saving("b")], isAtomic: false)
            try expect(saved.map(\.code), equals: [.zoneNotFound, .zoneNotFound])
            try expect(try await alice.lookup(["a"])[0].code, equals: .zoneNotFound)
        },
        Case("a deleted zone loses its records and is empty when recreated") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("hut")
            let token = try await alice.changes().syncToken
            try await alice.deleteZone("Trips")
            try await expectRefusal(.zoneNotFound) { _ = try await alice.changes(since: token) }
            try await alice.makeZone("Trips")
            try expect(try await alice.changes().records, equals: [])
            try await expectRefusal(.changeTokenExpired) {
                _ = try await alice.changes(since: token)
            }
        },
        Case("only the private database has custom zones") { stage in
            let alice = try await stage.person("alice")
            for scope in [DatabaseScope.public] {
                try await expectRefusal(.badRequest) {
                    _ = try await alice.ask(
                        ZonesModify.self,
                        .init(operations: [.init(.create, ZoneIDDictionary(zoneName: "Trips"))]),
                        in: scope)
                }
            }
        },
    ]

    static let changes: [Case] = [
        Case("each record is returned once, in its present state") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            for number in 0..<5 { try await alice.save("hut", [text("a", "\(number)")]) }
            try await alice.save("other")
            let page = try await alice.changes()
            try expect(page.records.map(\.name), equals: ["hut", "other"])
            try expect(try page.records[0].asRecord()[field: "a"], equals: .string("4"))
            try expect(try await alice.changes(since: page.syncToken).records, equals: [])
        },
        Case("pages follow each other without a gap, and no page ends inside a request") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            var names: Set<String> = []
            for request in 0..<4 {
                let batch = (0..<5).map { "hut-\(request)-\($0)" }
                names.formUnion(batch)
                try await alice.modify(batch.map { .saving($0) })
            }
            var token: String?
            var seen: Set<String> = []
            var page: ChangesZone.Page
            repeat {
                page = try await alice.changes(since: token, limit: 3)
                try expect(page.records.count, equals: 5)
                seen.formUnion(page.records.compactMap(\.name))
                token = page.syncToken
            } while page.moreComing
            try expect(seen, equals: names)
        },
        Case("deletions are returned to readers with a token, and not to new ones") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.save("hut")
            let token = try await alice.changes().syncToken
            try await alice.modify([.deleting("hut")])
            let changes = try await alice.changes(since: token).records
            try expect(try changes.map { try $0.asTombstone().recordName }, equals: ["hut"])
            let tablet = try await stage.person("alice", device: "tablet")
            try expect(try await tablet.changes().records, equals: [])
        },
        Case("the database's changes list the changed zones") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.makeZone("Other")
            let first = try await alice.ask(ChangesDatabase.self, .init())
            try await alice.save("hut")
            try await alice.deleteZone("Other")
            let second = try await alice.ask(
                ChangesDatabase.self, .init(syncToken: first.syncToken))
            var states: [String: Bool] = [:]
            for case .success(let zone) in second.zones {
                states[zone.zoneID.zoneName] = zone.isDeleted ?? false
            }
            try expect(states, equals: ["Trips": false, "Other": true])
        },
        Case("a token of another zone or another user is unknown") { stage in
            let (alice, bob) = try await stage.aliceAndBob()
            for person in [alice, bob] { try await person.makeZone("Trips") }
            try await alice.makeZone("Other")
            let token = try await alice.changes("Other").syncToken
            for (person, token) in [(alice, token), (bob, try await alice.changes().syncToken)] {
                let failure = try await expectRefusal(.badRequest) {
                    _ = try await person.changes(since: token)
                }
                try expect(failure.error.reason, equals: "Unknown sync continuation type")
            }
        },
        Case("the default zone has no feed") { stage in
            let alice = try await stage.person("alice")
            try await expectRefusal(.badRequest) { _ = try await alice.changes("_defaultZone") }
        },
    ]

    private static func names(of person: StagePerson) async throws -> [String] {
        try await person.ask(ZonesList.self, .init()).items.compactMap { result in
            if case .success(let zone) = result { zone.zoneID.zoneName } else { nil }
        }.sorted()
    }
}
