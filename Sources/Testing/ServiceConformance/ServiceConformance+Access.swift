import StratusClient
import StratusRecords
import StratusWire

extension ServiceConformance {
    static let queries: [Case] = [
        Case("all filters apply, and the order is the query's") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.modify(
                (0..<10).map {
                    .saving(
                        "hut-\($0)",
                        [
                            Field(name: "beds", value: .int64(Int64($0 % 4))),
                            text("name", "n\(9 - $0)"),
                        ])
                })
            let query = QueryDictionary(
                recordType: "Hut",
                filterBy: [.init(.greaterThanOrEquals, .user("beds"), .int64(2))],
                sortBy: [.init(.user("beds"), isAscending: false), .init(.user("name"))])
            try expect(
                try await found(by: alice, query),
                equals: ["hut-7", "hut-3", "hut-6", "hut-2"])
        },
        Case("a query's pages are its whole answer") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            try await alice.modify(
                (0..<23).map {
                    .saving("hut-\($0)", [Field(name: "beds", value: .int64(Int64($0 % 5)))])
                })
            let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user("beds"))])
            let all = try await found(by: alice, query)
            try expect(all.count, equals: 23)
            try expect(try await found(by: alice, query, pageLength: 4), equals: all)
        },
        Case("queries of an unknown type are refused") { stage in
            let alice = try await stage.person("alice", zone: "Trips")
            let query = QueryDictionary(recordType: "Nothing")
            do {
                let names = try await found(by: alice, query)
                throw StoreConformance.Failure(message: "\(names)", file: #fileID, line: #line)
            } catch let failure as ServiceFailure {
                let isRefusal = [.badRequest, .notFound].contains(failure.error.code)
                try expect(isRefusal, equals: true)
            }
        },
    ]

    static let access: [Case] = [
        Case("all users read a public record, and only its creator changes it") { stage in
            let (alice, bob) = try await stage.aliceAndBob()
            let nobody = try await stage.person(nil)
            let name = "public-\(try await alice.userRecordName())"
            try await alice.save(name, [text("a", "1")], in: nil, scope: .public)
            for person in [bob, nobody] {
                let found = try await person.lookup([name], in: nil, scope: .public)[0].asRecord()
                try expect(try found[field: "a"], equals: .string("1"))
            }
            let bobs = try await bob.modify(
                [.saving(name, [text("a", "2")], kind: .forceUpdate)], in: nil, scope: .public)
            try expect(bobs[0].code, equals: .accessDenied)
            try await expectRefusal(.authenticationRequired) {
                try await nobody.modify([.saving("x")], in: nil, scope: .public)
            }
        },
        Case("without a user there is no private database") { stage in
            let nobody = try await stage.person(nil)
            for scope in [DatabaseScope.private, .shared] {
                try await expectRefusal(.authenticationRequired) {
                    _ = try await nobody.ask(ZonesList.self, .init(), in: scope)
                }
            }
        },
        Case("another user's zone does not exist under any name") { stage in
            let (alice, bob) = try await stage.aliceAndBob()
            try await alice.makeZone("Trips")
            try await alice.save("hut")
            let zoneID = ZoneIDDictionary(
                zoneName: "Trips", ownerRecordName: try await alice.userRecordName())
            for scope in [DatabaseScope.private, .shared] {
                let found = try await bob.ask(
                    RecordsLookup.self, .init(records: [.init(recordName: "hut")], zoneID: zoneID),
                    in: scope)
                try expect(found.records[0].code, equals: .zoneNotFound)
                let saved = try await bob.ask(
                    RecordsModify.self,
                    .init(operations: [.saving("mine")], zoneID: zoneID, isAtomic: false),
                    in: scope)
                try expect(saved.records[0].code, equals: .zoneNotFound)
            }
        },
    ]

    /// The names of all records that a query finds, page by page.
    private static func found(
        by person: StagePerson, _ query: QueryDictionary, pageLength: Int? = nil
    ) async throws -> [String] {
        var names: [String] = []
        var marker: String?
        repeat {
            let page = try await person.ask(
                RecordsQuery.self,
                .init(
                    query: query, zoneID: ZoneIDDictionary(zoneName: "Trips"),
                    resultsLimit: pageLength, continuationMarker: marker))
            names += page.records.compactMap(\.name)
            marker = page.continuationMarker
        } while marker != nil
        return names
    }
}

extension StagePerson {
    func userRecordName() async throws -> String {
        try StoreConformance.unwrap(
            try await ask(UsersCaller.self, .init(), in: .public).identity.userRecordName)
    }
}
