import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// The ancestor in a conflict: the state that the client changed, if the store still has it.
@Suite struct AncestorsTests {
    @Test(arguments: Backend.allCases)
    func conflictReturnsAncestorRecord(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        let alice = try await world.person("alice", with: "Trips")
        var saved: [RecordResult] = []
        for number in 0..<6 {
            world.advance(seconds: 60)
            saved += try await alice.at("device-\(number)").modify(
                [hut(.forceUpdate, "hut", [beds(Int64(number))])], in: "Trips")
            // Changes of other records come between.
            try await alice.modify([hut(.forceUpdate, "other", [beds(1)])], in: "Trips")
        }
        for state in saved.dropLast() {
            let failure = try await conflict(alice, "hut", state.record?.recordChangeTag)
            #expect(failure?.ancestorRecord == state.record)
            #expect(failure?.serverRecord == saved.last?.record)
        }
        for tag in ["zzz.0000", "1.0000", "", "no tag", nil] {
            let failure = try await conflict(alice, "hut", tag)
            #expect(failure?.error.code == .conflict)
            #expect(failure?.ancestorRecord == nil)
        }
    }

    /// Only clients that ask for the extensions pay for them.
    @Test func ancestorRecordIsSentOnlyWithExtensions() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let first = try await alice.modify([hut(.create, "hut")])[0].record?.recordChangeTag
        try await alice.modify([hut(.forceUpdate, "hut", [beds(1)])])
        let answer = try await world.service.respond(
            to: RecordsModify.self,
            .init(operations: [hut(.update, "hut", [beds(2)], tag: first)]),
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: alice.token),
            at: world.address, scope: .private
        ).answer
        #expect(answer.records[0].code == .conflict)
        #expect(answer.records[0].failed?.ancestorRecord == nil)
    }

    @Test(arguments: Backend.allCases)
    func ancestorRecordsAreLimitedByCountAndSize(_ backend: Backend) async throws {
        let alice = try await World.alice(try backend.storage()) {
            $0.ancestorChanges = 3
            $0.ancestorBytes = 200
        }
        let first = try await alice.modify([hut(.create, "hut")])[0].record?.recordChangeTag
        try await alice.modify([hut(.forceUpdate, "hut", [beds(1)])])
        #expect(try await conflict(alice, "hut", first)?.ancestorRecord != nil)
        for number in 0..<3 { try await alice.modify([hut(.create, "other-\(number)")]) }
        #expect(try await conflict(alice, "hut", first)?.ancestorRecord == nil)
        let note = text("note", String(repeating: "x", count: 300))
        let large = try await alice.modify([hut(.forceUpdate, "hut", [note])])[0]
        try await alice.modify([hut(.forceUpdate, "hut", [beds(2)])])
        let failure = try await conflict(alice, "hut", large.record?.recordChangeTag)
        #expect(failure?.error.code == .conflict)
        #expect(failure?.ancestorRecord == nil)
    }

    /// They are counted once in 256 changes.
    @Test(arguments: [1, 128])
    func ancestorRecordsOfAZoneAreLimitedByBytes(_ recordsPerRequest: Int) async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage, limits: .with { $0.ancestorBytesPerZone = 20_000 })
        let alice = try await world.person("alice", with: "Trips")
        let note = text("note", String(repeating: "x", count: 1_000))
        let operations = (0..<recordsPerRequest).map { hut(.forceUpdate, "hut\($0)", [note]) }
        var tags: [String?] = []
        for _ in 0..<(768 / recordsPerRequest) {
            let saved = try await alice.modify(operations, in: "Trips")
            tags.append(saved[0].record?.recordChangeTag)
        }
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let bytes = try await store.read { reader in
            let zone = try #require(try reader.zone(named: "Trips"))
            return try reader.ancestorBytes(replacedAfter: 0, before: .max, in: zone.key)
        }
        #expect(bytes > 0 && bytes < 20_000 + 256 * 1_200)
        let first = try await conflict(alice, "hut0", tags[1])
        #expect(first?.error.code == .conflict && first?.ancestorRecord == nil)
    }

    @Test func ancestorRecordsOfASmallZoneAreKept() async throws {
        let alice = try await World.alice { $0.ancestorBytesPerZone = 1_000_000 }
        let first = try await alice.modify([hut(.forceUpdate, "hut", [beds(1)])])
        for _ in 0..<300 { try await alice.modify([hut(.forceUpdate, "hut", [beds(2)])]) }
        let failure = try await conflict(alice, "hut", first[0].record?.recordChangeTag)
        #expect(failure?.ancestorRecord == first[0].record)
    }

    /// Its address would be invalid.
    @Test(arguments: Backend.allCases)
    func conflictOmitsAncestorRecordWhoseAssetWasCollected(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        var alice = try await world.person("alice")
        let first = try await alice.modify([
            hut(.create, "hut", [photo(try await alice.upload([1]))])
        ])[0]
        let tag = first.record?.recordChangeTag
        try await alice.modify([hut(.forceUpdate, "hut", [Field(name: "photo", value: nil)])])
        let ancestor = try #require(try await conflict(alice, "hut", tag)?.ancestorRecord)
        #expect(try await world.fetch(RecordResult.record(ancestor).asset) == [1])
        await world.service.collectAssets()
        world.advance(seconds: 3 * 24 * 3600)
        #expect(await world.service.collectAssets().unreferencedAssets == 1)
        alice = try await world.person("alice")
        let failure = try await conflict(alice, "hut", tag)
        #expect(failure?.error.code == .conflict && failure?.serverRecord != nil)
        #expect(failure?.ancestorRecord == nil)
    }

    /// The states of a deleted record are removed too.
    @Test(arguments: Backend.allCases)
    func deletionRemovesAncestorRecords(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let world = World(storage)
        let alice = try await world.person("alice")
        for number in 0..<4 {
            try await alice.modify([hut(.forceUpdate, "hut", [beds(Int64(number))])])
        }
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        func kept() async throws -> Int {
            try await store.read { reader in
                let zone = try #require(try reader.zone(named: "_defaultZone"))
                return try (0...zone.version).filter {
                    try reader.ancestor(replacedAt: $0, in: zone.key) != nil
                }.count
            }
        }
        #expect(try await kept() == 3)
        try await alice.modify([hut(.forceDelete, "hut")])
        #expect(try await kept() == 0)
    }

    /// A short request can conflict with 400 large records.
    @Test func byteLimitOmitsServerRecordsOfConflicts() async throws {
        let alice = try await World(limits: .with { $0.changedBytesPerAnswer = 2_500 }).person(
            "alice")
        let note = text("note", String(repeating: "x", count: 1_000))
        let names = (0..<4).map { "hut-\($0)" }
        try await alice.modify(names.map { hut(.create, $0, [note]) })
        let results = try await alice.modify(names.map { hut(.update, $0, [beds(1)], tag: "1.a") })
        #expect(results.allSatisfy { $0.code == .conflict })
        #expect(results.map { $0.failed?.serverRecord != nil } == [true, true, false, false])
    }

    /// Also in the answer to a repeated request.
    @Test func repeatedRequestReturnsAncestorRecord() async throws {
        let alice = try await World().person("alice")
        let first = try await alice.modify([hut(.create, "hut")])[0].record?.recordChangeTag
        try await alice.modify([hut(.forceUpdate, "hut", [beds(1)])])
        let operations = [hut(.create, "new"), hut(.update, "hut", [beds(2)], tag: first)]
        let answer = try await alice.modify(operations, operationID: "save")
        #expect(answer[1].failed?.ancestorRecord != nil)
        let repeated = try await alice.modify(operations, operationID: "save")
        #expect(repeated.map(\.withoutIdentifier) == answer.map(\.withoutIdentifier))
    }

    private func conflict(
        _ person: Person, _ name: String, _ tag: String?
    ) async throws -> RecordFailure? {
        let zoneName = try await person.lookup([name], in: "Trips")[0].record == nil ? nil : "Trips"
        return try await person.modify(
            [hut(.update, name, [beds(99)], tag: tag)], in: zoneName, isAtomic: false)[0].failed
    }
}

extension RecordResult {
    /// The failure without its identifier, which differs in every answer.
    fileprivate var withoutIdentifier: RecordResult {
        guard case .failure(var failure) = self else { return self }
        failure.uuid = nil
        return .failure(failure)
    }
}
