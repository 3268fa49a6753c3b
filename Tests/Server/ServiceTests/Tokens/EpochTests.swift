import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// What devices get after the data was replaced by a copy: no change is missed without an error, and intact
/// tokens continue.
@Suite struct EpochTests {
    /// The ten lost changes of a device have the same versions as the new ones.
    @Test func restoreExpiresTokensOfLostHistory() async throws {
        let folder = try CopiedFolder()
        var opened = try folder.open()
        var alice = try await opened.world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "first")], in: "Trips")
        let intact = try await alice.page("Trips").syncToken
        let intactDatabase = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        let intactDatabaseVersion = try await opened.storage.store(
            for: DatabaseAddress(opened.world.address, .private(owner: alice.name))
        ).read { try $0.databaseVersion }
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

        // A copy is put back without `stratus restored`.
        try folder.replace(by: copy)
        opened = try folder.open()
        alice = try await opened.world.person("alice")
        for number in 0..<12 { try await alice.modify([hut(.create, "new\(number)")], in: "Trips") }
        guard case .failure(let failure) = try await alice.changes("Trips", since: lost) else {
            Issue.record("A token of the lost history was taken.")
            return
        }
        #expect(failure.error.code == .changeTokenExpired)
        #expect(failure.error.lastIntactVersion == 1)
        let refusal = await alice.refusal(ChangesDatabase.self, .init(syncToken: lostDatabase))
        #expect(refusal?.error.code == .changeTokenExpired)
        #expect(refusal?.error.lastIntactVersion == intactDatabaseVersion)
        #expect(try await alice.page("Trips").records.count == 13)

        // Tokens of the intact history continue.
        let page = try await alice.page("Trips", since: intact)
        #expect(page.records.compactMap(\.name) == (0..<12).map { "new\($0)" })
        let zones = try await alice.ask(ChangesDatabase.self, .init(syncToken: intactDatabase))
        #expect(zones.zones.count == 1)
        try await opened.storage.close()
    }

    /// After a restore lost that a participant left, the shared database's token expires on the participant's device.
    @Test func lostLeaveExpiresTheSharedDatabaseToken() async throws {
        let folder = try CopiedFolder()
        var opened = try folder.open()
        let ida = try await opened.world.person("ida", with: "Trips")
        var bo = try await opened.world.person("bo")
        let made = try await ida.modify(
            [
                hut(.create, "trail"),
                share(.create, "S", of: "trail", permission: .readWrite, participants: []),
            ], in: "Trips")
        _ = try await bo.accept(try #require(made.last?.record?.shortGUID))
        let joined = try await bo.ask(ChangesDatabase.self, .init(), in: .shared).syncToken
        try await opened.storage.close()
        let copy = try folder.copy()
        opened = try folder.open()
        bo = try await opened.world.person("bo")
        let left = try await bo.ask(
            ZonesModify.self, .init(operations: [.init(.delete, zone("Trips", of: ida))]),
            in: .shared)
        let token = try #require(try left.items.first?.get().databaseSyncToken)
        #expect(
            await bo.refusal(
                ChangesDatabase.self, .init(syncToken: joined, knownSyncTokens: [token]),
                in: .shared) == nil)
        try await opened.storage.close()

        try folder.replace(by: copy)
        opened = try folder.open()
        bo = try await opened.world.person("bo")
        #expect(
            await bo.refusal(ChangesDatabase.self, .init(syncToken: joined), in: .shared) == nil)
        let refusal = await bo.refusal(
            ChangesDatabase.self, .init(syncToken: joined, knownSyncTokens: [token]), in: .shared)
        #expect(refusal?.error.code == .changeTokenExpired)
        try await opened.storage.close()
    }

    /// Two services on copies of one folder: the tokens and tags of one are not valid at the other.
    @Test func tokensAndTagsOfACopiedFolderAreInvalid() async throws {
        let folder = try CopiedFolder()
        let first = try folder.open()
        let alice = try await first.world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "common")], in: "Trips")
        try await first.storage.close()
        let copy = try folder.copy()
        let services = [try folder.open(), try folder.open(copy)]
        var people: [Person] = []
        var states: [(token: String, tag: String?)] = []
        for (number, service) in services.enumerated() {
            let person = try await service.world.person("alice")
            let saved = try await person.modify(
                [hut(.forceUpdate, "hut", [beds(Int64(number))])], in: "Trips")
            let page = try await person.page("Trips", limit: 1, isReversed: true)
            people.append(person)
            states.append((page.syncToken, saved[0].record?.recordChangeTag))
        }
        // The same version in two histories.
        let versions = states.map { $0.tag.flatMap(ChangeTag.version(of:)) }
        #expect(versions == [2, 2])
        #expect(states[0].tag != states[1].tag)
        for (person, foreign) in zip(people, states.reversed()) {
            // A newest-first fetch in progress belongs to its history too.
            guard
                case .failure(let failure) = try await person.changes("Trips", since: foreign.token)
            else {
                Issue.record("A token of another history was taken.")
                continue
            }
            #expect(failure.error.code == .changeTokenExpired)
            #expect(failure.error.lastIntactVersion == 1)
            let saved = try await person.modify(
                [hut(.update, "hut", [beds(9)], tag: foreign.tag)], in: "Trips", isAtomic: false)
            #expect(saved[0].code == .conflict)
            #expect(saved[0].failed?.ancestorRecord == nil)
        }
        for service in services { try await service.storage.close() }
    }

    /// The last intact version is found if no more epochs lie between the copy and the token than a token names; with
    /// one more, nothing is known to be intact.
    @Test(arguments: [(16, 3), (17, 0)] as [(Int, Int64)])
    func lastIntactVersionIsFoundAcrossLimitedEpochs(_ starts: Int, _ intact: Int64) async throws {
        let folder = try CopiedFolder()
        var opened = try folder.open()
        var alice = try await opened.world.person("alice", with: "Trips")
        for _ in 0..<3 { try await alice.modify([hut(.forceUpdate, "hut")], in: "Trips") }
        try await opened.storage.close()
        let copy = try folder.copy()
        for number in 0..<starts {
            opened = try folder.open()
            alice = try await opened.world.person("alice")
            try await alice.modify([hut(.create, "lost\(number)")], in: "Trips")
            if number < starts - 1 { try await opened.storage.close() }
        }
        let lost = try await alice.page("Trips").syncToken
        try await opened.storage.close()
        try folder.replace(by: copy)
        opened = try folder.open()
        alice = try await opened.world.person("alice")
        for _ in 0..<2 {
            guard case .failure(let failure) = try await alice.changes("Trips", since: lost) else {
                Issue.record("A token of the lost history was taken.")
                return
            }
            #expect(failure.error.lastIntactVersion == intact)
            // The answer is the same after the first write of the new history.
            try await alice.modify([hut(.create, "new")], in: "Trips", isAtomic: false)
        }
        try await opened.storage.close()
    }

    /// A token of the format without epochs belongs to the first epoch.
    @Test func tokenOfThePreviousFormatIsValid() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a")], in: "Trips")
        try await alice.modify([hut(.create, "b")], in: "Trips")
        let address = DatabaseAddress(world.address, .private(owner: alice.name))
        let store = try await storage.store(for: address)
        let (zone, epoch) = try await store.read { reader in
            (try #require(try reader.zone(named: "Trips")), try reader.epoch)
        }
        let signer = TokenSigner(key: try await storage.directory.signingKey())
        func token(_ epoch: Epoch, _ cursor: Int64) -> String {
            var writer = ByteWriter()
            writer.write(2)
            writer.write(ChangeToken.Kind.zone.rawValue)
            writer.write(raw: ChangeToken.mark(of: address))
            for number in [
                zone.key.rawValue, zone.generation, 0, epoch.number,
                Int64(bitPattern: epoch.identifier), cursor, 0, 0, 0, world.nowMilliseconds,
            ] {
                writer.write(number: number)
            }
            return Base64.text(signer.signed(writer.bytes, for: .changeToken))
        }
        let page = try await alice.page("Trips", since: token(epoch, 1))
        #expect(page.records.compactMap(\.name) == ["b"])
        for (old, intact) in [
            (token(epoch, 3), 2), (token(Epoch(number: epoch.number, identifier: 1), 1), 0),
        ] as [(String, Int64)] {
            guard case .failure(let failure) = try await alice.changes("Trips", since: old) else {
                Issue.record("A token of a lost history was taken.")
                continue
            }
            #expect(failure.error.code == .changeTokenExpired)
            #expect(failure.error.lastIntactVersion == intact)
        }
    }

    /// Once tokens have expired, epochs without a valid token are merged, and a device that fetches in pages continues.
    @Test func epochsWithoutValidTokensAreMerged() async throws {
        var limits = Limits()
        limits.changeTokenSeconds = 100
        let clock = HistoryFolder.Clock()
        let storage = SQLiteStorageEngine.inMemory(world: clock.world(seed: 3))
        let world = World(storage, limits: limits)
        let alice = try await world.person("alice", with: "Trips")
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        for number in 0..<6 {
            try await alice.modify([hut(.create, "hut\(number)")], in: "Trips")
            // Two minutes later, in another epoch.
            clock.jump()
            world.advance(seconds: 120)
        }
        let zone = try await store.read { try #require(try $0.zone(named: "Trips")).key }
        let settings = world.service.settings
        let purge = TombstonePurge(
            limits: settings.limits, world: settings.world, logger: settings.logger)
        let numbers = { @Sendable () async throws -> [Int] in
            try await store.read { reader in
                try [nil, zone].map { try reader.epochs(of: $0, from: 0, limit: 99).count }
            }
        }
        let before = try await numbers()
        try await purge.mergeEpochs(of: store, world.nowMilliseconds)
        let after = try await numbers()
        // Tokens last 100 seconds: epochs that ended more than 200 seconds ago are merged, which leaves two.
        #expect(before[1] == 6)
        #expect(after == [2, 2])
        var token: String?
        var names: [String] = []
        while true {
            let page = try await alice.page("Trips", since: token, limit: 1)
            names += page.records.compactMap(\.name)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(names == (0..<6).map { "hut\($0)" })

        var endless = limits
        endless.changeTokenSeconds = .infinity
        let kept = TombstonePurge(
            limits: endless, world: settings.world, logger: settings.logger)
        try await kept.mergeEpochs(of: store, .max)
        #expect(try await numbers() == after)
    }
}
