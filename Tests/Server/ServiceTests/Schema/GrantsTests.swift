import StratusRecords
import StratusSchema
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Which users may do what with public records.
@Suite struct GrantsTests {
    /// A public database with a hut of alice's.
    static func world(_ grants: String) async throws -> (World, alice: Person, bob: Person) {
        let world = World()
        let alice = try await world.person("alice")
        try await alice.modify(
            [hut(.create, "a", [beds(1)])], scope: .public)
        try await world.service.schemaDeployment(of: World.container).replace(
            with: ContainerSchema(
                text: """
                    DEFINE SCHEMA CREATE ROLE editor;
                    RECORD TYPE Hut (beds INT64 QUERYABLE SORTABLE,
                        ___recordID REFERENCE QUERYABLE, \(grants));
                    """))
        return (world, alice, try await world.person("bob"))
    }

    static func assign(_ world: World, _ user: String, _ isAssigned: Bool = true) async throws {
        try await world.service.schemaDeployment(of: World.container).setRole(
            "editor", ofUserNamed: user, in: .development, isAssigned: isAssigned)
    }

    /// What a person can do with alice's hut and with a new one, as letters: r(ead), q(uery), c(reate),
    /// u(pdate), d(elete).
    static func powers(_ person: Person) async throws -> String {
        var powers = ""
        let lookup = try await person.lookup(["a"], scope: .public)[0]
        if lookup.record != nil { powers += "r" } else { #expect(lookup.code == .accessDenied) }
        if try await found(by: person).contains("a") { powers += "q" }
        guard person.token != nil else { return powers }
        let results = try await person.modify(
            [
                hut(.create, "new-\(person.name)", [beds(2)]),
                hut(.forceUpdate, "a", [beds(3)]),
                hut(.forceReplace, "new-\(person.name)-2", [beds(3)]),
            ], scope: .public)
        if results[0].code == nil { powers += "c" }
        if results[1].code == nil { powers += "u" }
        #expect((results[0].code == nil) == (results[2].code == nil))
        for result in results { #expect([nil, .accessDenied].contains(result.code)) }
        let deletion = try await person.modify([hut(.forceDelete, "a")], scope: .public)[0]
        if deletion.code == nil { powers += "d" }
        return powers
    }

    /// The names that a query finds; none if it is refused.
    static func found(by person: Person) async throws -> [String] {
        let request = RecordsQuery.Request(query: QueryDictionary(recordType: "Hut"))
        do {
            return try await person.ask(RecordsQuery.self, request, in: .public)
                .records.compactMap(\.name)
        } catch let failure as RequestFailure where failure.error.code == .accessDenied {
            return []
        }
    }

    @Test(arguments: [
        (
            #"GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#,
            "rqcud", "rqc", "rqc", "rq"
        ),
        (#"GRANT WRITE TO "_creator""#, "rqud", "", "", ""),
        (#"GRANT READ TO "_icloud""#, "rq", "rq", "rq", ""),
        (#"GRANT WRITE TO "_icloud""#, "rqud", "rqud", "rqud", ""),
        (#"GRANT CREATE TO "_icloud""#, "c", "c", "c", ""),
        (#"GRANT READ, CREATE, WRITE TO editor"#, "", "", "rqcud", ""),
        (#"GRANT READ TO "_creator", GRANT CREATE TO editor"#, "rq", "", "c", ""),
        (#"GRANT READ, CREATE, WRITE TO "_world""#, "rqcud", "rqcud", "rqcud", "rq"),
    ])
    func rolesDeterminePermissions(
        _ grants: String, _ creator: String, _ user: String, _ editor: String, _ nobody: String
    ) async throws {
        for (name, expected) in [
            ("alice", creator), ("bob", user), ("carol", editor), ("", nobody),
        ] {
            // A new world for each, since a person with that permission deletes the record.
            let (world, _, _) = try await Self.world(grants)
            let person = name.isEmpty ? world.nobody : try await world.person(name)
            if name == "carol" { try await Self.assign(world, "carol") }
            #expect(try await Self.powers(person) == expected, "\(grants): \(name)")
        }
    }

    @Test func roleIsAssignedRevokedAndResetWithItsEnvironment() async throws {
        let (world, _, bob) = try await Self.world("GRANT READ TO editor")
        #expect(try await bob.lookup(["a"], scope: .public)[0].code == .accessDenied)
        try await Self.assign(world, "bob")
        #expect(try await bob.lookup(["a"], scope: .public)[0].record != nil)
        let schemas = world.service.schemaDeployment(of: World.container)
        let members = try await schemas.members(in: .development)
        #expect(members.map(\.role) == ["editor"])
        #expect(members.map(\.userName) == ["bob"])
        #expect(members.map(\.userRecordName) == [bob.name])
        try await schemas.deploy()
        #expect(try await schemas.members(in: .production).isEmpty)
        try await Self.assign(world, "bob", false)
        #expect(try await bob.lookup(["a"], scope: .public)[0].code == .accessDenied)
        await #expect(throws: SchemaRefusal.self) {
            try await schemas.setRole(
                "none", ofUserNamed: "bob", in: .development, isAssigned: true)
        }
        await #expect(throws: SchemaRefusal.self) { try await Self.assign(world, "zoe") }
    }

    /// A query finds the readable records; its pages and refusals reveal nothing of the others.
    @Test func queryReturnsOnlyReadableRecords() async throws {
        let (_, alice, bob) = try await Self.world(
            #"GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#)
        try await bob.modify(
            (0..<5).map { hut(.create, "b\($0)", [beds($0)]) }, scope: .public)
        #expect(try await Self.found(by: alice) == ["a"])
        #expect(try await Self.found(by: bob) == ["b0", "b1", "b2", "b3", "b4"])
        let page = try await alice.ask(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut"), resultsLimit: 1), in: .public)
        #expect(page.records.map(\.name) == ["a"])
        #expect(page.continuationMarker == nil)
    }

    /// The same for the feed of the public database, including deletions.
    @Test func changesContainOnlyReadableRecords() async throws {
        let (world, alice, bob) = try await Self.world(
            #"GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#)
        try await bob.modify([hut(.create, "b", [beds(1)])], scope: .public)
        try await alice.modify([hut(.create, "gone", [beds(1)])], scope: .public)
        func feed(_ person: Person, since token: String? = nil, isReversed: Bool = false)
            async throws -> ChangesZone.Page
        {
            let answer = try await person.ask(
                ChangesZone.self,
                .init(zones: [
                    .init(
                        zoneID: zone("_defaultZone"), syncToken: token, isReversed: isReversed)
                ]), in: .public)
            switch answer.items[0] {
            case .success(let page): return page
            case .failure(let failure): throw failure.error
            }
        }
        #expect(try await feed(alice).records.map(\.name) == ["a", "gone"])
        #expect(try await feed(world.nobody).records.isEmpty)
        let page = try await feed(bob)
        #expect(page.records.map(\.name) == ["b"])
        #expect(try await feed(bob, isReversed: true).records.map(\.name) == ["b"])
        try await alice.modify([hut(.forceDelete, "gone")], scope: .public)
        try await bob.modify([hut(.forceDelete, "b")], scope: .public)
        #expect(
            try await feed(bob, since: page.syncToken).records.map(\.tombstone?.recordName)
                == ["b"])
    }

    /// A conflict contains the server's record only if the user may read it.
    @Test func refusedCreateDoesNotRevealTheRecord() async throws {
        let (_, alice, bob) = try await Self.world(
            #"GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#)
        let taken = try await bob.modify([hut(.create, "a", [beds(9)])], scope: .public)[0]
        #expect(taken.code == .conflict)
        #expect(taken.failed?.serverRecord == nil)
        let own = try await alice.modify([hut(.create, "a", [beds(9)])], scope: .public)[0]
        #expect(own.failed?.serverRecord != nil)
        let stale = try await bob.modify(
            [hut(.update, "a", [beds(9)], tag: "wrong")], scope: .public)[0]
        #expect(stale.code == .accessDenied)
        #expect(stale.failed?.serverRecord == nil)
    }

    /// A repeated request returns only what the caller may read now.
    @Test func repeatedRequestReturnsOnlyReadableRecords() async throws {
        let (_, alice, bob) = try await Self.world(
            #"GRANT CREATE TO "_icloud", GRANT READ, WRITE TO editor, GRANT READ TO "_creator""#)
        let first = [hut(.create, "new", [beds(2)]), hut(.create, "a", [beds(9)])]
        for _ in 0..<2 {
            let results = try await bob.modify(first, operationID: "once", scope: .public)
            #expect(results.map(\.code) == [nil, .conflict])
            #expect(results[0].values == ["beds": .int64(2)])
            #expect(results[1].failed?.serverRecord == nil)
        }
        let own = [hut(.create, "newer", [beds(2)]), hut(.create, "a", [beds(9)])]
        for _ in 0..<2 {
            let results = try await alice.modify(own, operationID: "once", scope: .public)
            #expect(results[1].failed?.serverRecord != nil)
        }
    }

    @Test func repeatedRequestConfirmsASaveWithoutItsFields() async throws {
        let (_, _, bob) = try await Self.world(#"GRANT CREATE TO "_icloud""#)
        for expected in [["beds": FieldValue.int64(2)], [:]] {
            let result = try await bob.modify(
                [hut(.create, "new", [beds(2)])], operationID: "once", scope: .public)[0]
            #expect(result.name == "new")
            #expect(result.values == expected)
        }
    }

    /// Users are not notified of records that they may not read.
    @Test func notificationsFollowTheGrants() async throws {
        let (world, alice, bob) = try await Self.world(
            #"GRANT READ TO editor, GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#)
        let token = try await bob.at("tablet").listen()
        _ = try await bob.at("tablet").subscribe(
            [SubscriptionsTests.query("q", on: [.create, .update, .delete])], in: .public)
        try await alice.modify([hut(.create, "x", [beds(1)])], scope: .public)
        #expect(try await bob.received(token).isEmpty)
        try await bob.modify([hut(.create, "y", [beds(1)])], scope: .public)
        #expect(try await bob.received(token).count == 1)
        try await Self.assign(world, "bob")
        try await alice.modify([hut(.forceUpdate, "x", [beds(2)])], scope: .public)
        #expect(try await bob.received(token).count == 1)
        try await Self.assign(world, "bob", false)
        try await alice.modify([hut(.forceDelete, "x")], scope: .public)
        #expect(try await bob.received(token).isEmpty)
    }

    @Test func grantsDoNotApplyToPrivateDatabases() async throws {
        let (_, alice, _) = try await Self.world("GRANT READ TO editor")
        let saved = try await alice.modify([hut(.create, "mine", [beds(1)])])
        #expect(saved[0].code == nil)
        #expect(try await alice.lookup(["mine"])[0].record != nil)
        #expect(try await alice.modify([hut(.forceDelete, "mine")])[0].code == nil)
    }

    /// A save without the permission to create leaves no types or fields behind.
    @Test func refusedSaveDoesNotChangeTheSchema() async throws {
        let (world, _, bob) = try await Self.world("GRANT READ TO editor")
        let results = try await bob.modify(
            [
                hut(.create, "b", [text("extra", "x")]),
                hut(.forceUpdate, "a", [text("more", "x")]),
            ], scope: .public)
        #expect(results.map(\.code) == [.accessDenied, .accessDenied])
        let schema = try await world.service.schemaDeployment(of: World.container)
            .schema(in: .development)
        #expect(schema.rule(for: "extra", of: "Hut") == nil)
        #expect(schema.rule(for: "more", of: "Hut") == nil)
    }

    /// The bytes would count against everyone's quota.
    @Test(arguments: [
        (#"GRANT READ TO "_world""#, true),
        (#"GRANT CREATE TO "_icloud""#, false),
        (#"GRANT WRITE TO "_creator""#, false),
        (#"GRANT WRITE TO "_icloud""#, false),
    ])
    func publicUploadIsRefusedIfGrantsAllowNoSave(_ grants: String, _ isRefused: Bool) async throws
    {
        let world = World(environment: .production)
        let bob = try await world.person("bob")
        let schemas = world.service.schemaDeployment(of: World.container)
        try await schemas.replace(
            with: ContainerSchema(
                text: "DEFINE SCHEMA RECORD TYPE Hut (photo ASSET, \(grants));"))
        try await schemas.deploy()
        let request = AssetsUpload.Request(tokens: [.init(fieldName: "photo")])
        let refusal = await bob.refusal(AssetsUpload.self, request, in: .public)
        #expect((refusal?.error.code == .accessDenied) == isRefused)
        #expect((refusal == nil) == !isRefused)
        #expect(await bob.refusal(AssetsUpload.self, request) == nil)
    }
}
