import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Requests that arrive twice have one outcome, identified by the operation's ID.
@Suite struct RepeatedRequestTests {
    let world = World()

    @Test(arguments: Backend.allCases)
    func repeatedRequestChangesNothing(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        let operations = [hut(.create, "hut", [beds(1)]), hut(.create, nil, [beds(2)])]
        let first = try await alice.modify(operations, in: "Trips", operationID: "save-1")
        let token = try await alice.page("Trips").syncToken
        #expect(try await alice.modify(operations, in: "Trips", operationID: "save-1") == first)
        #expect(try await alice.page("Trips", since: token).records.isEmpty)
        // The same ID from another device is another operation.
        let other = await alice.at("tablet").refusal(
            RecordsModify.self,
            .init(operations: operations, zoneID: zone("Trips"), operationID: "save-1"))
        #expect(other?.records?[0].code == .conflict)
    }

    /// Deleting a missing record succeeds at once, and repeating it does not delete a record that was created
    /// meanwhile.
    @Test func repeatedDeletionKeepsRecordCreatedSince() async throws {
        let alice = try await world.person("alice")
        let gone = try await alice.modify([hut(.forceDelete, "hut")], operationID: "delete-1")
        try await alice.at("tablet").modify([hut(.create, "hut", [beds(1)])])
        let again = try await alice.modify([hut(.forceDelete, "hut")], operationID: "delete-1")
        #expect(again.map(\.tombstone?.recordName) == gone.map(\.tombstone?.recordName))
        #expect(try await alice.lookup(["hut"])[0].values == ["beds": .int64(1)])
    }

    /// A later change of the record is reported as such, not as another outcome of the save.
    @Test func repeatedSaveOfDeletedRecordIsNotFound() async throws {
        let alice = try await world.person("alice")
        let operations = [hut(.create, "hut"), hut(.forceDelete, "old")]
        try await alice.modify([hut(.create, "old")])
        try await alice.modify(operations, operationID: "save-1")
        try await alice.at("tablet").modify([hut(.forceDelete, "hut"), hut(.create, "old")])
        let again = try await alice.modify(operations, operationID: "save-1")
        #expect(again[0].code == .notFound)
        #expect(again[1].tombstone?.recordName == "old")
        #expect(try await alice.lookup(["old"])[0].record != nil)
    }

    @Test func repeatedRequestReturnsTheSamePartialFailure() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let operations = [hut(.create, "a"), hut(.update, "b", tag: "1.abcd")]
        func send() async throws -> [RecordResult] {
            try await alice.modify(operations, in: "Trips", isAtomic: false, operationID: "save-1")
        }
        let first = try await send()
        #expect(first.map(\.code) == [nil, .notFound])
        try await alice.at("tablet").modify([hut(.create, "b")], in: "Trips")
        let again = try await send()
        #expect(again[0] == first[0])
        #expect(again[1].failed?.error == first[1].failed?.error)
    }

    /// Otherwise the answer would be about records that the request does not name.
    @Test func operationIDReusedForOtherRecordsIsRefused() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a"), hut(.create, "b")], operationID: "save-1")
        for (operations, zoneName) in [
            ([hut(.create, "a")], nil), ([hut(.create, "a"), hut(.create, "c")], nil),
            ([hut(.create, "b"), hut(.create, "a")], nil),
            ([hut(.create, "a"), hut(.forceDelete, "b")], nil),
            ([hut(.create, "a"), hut(.create, nil)], nil),
            ([hut(.create, "a"), hut(.create, "b")], "Trips"),
        ] as [([RecordsModify.Operation], String?)] {
            let refusal = await alice.refusal(
                RecordsModify.self,
                .init(
                    operations: operations, zoneID: zoneName.map { zone($0) },
                    operationID: "save-1"))
            #expect(refusal?.error.code == .badRequest)
        }
        #expect(try await alice.lookup(["b", "c"]).map(\.code) == [nil, .notFound])
        // The internal identifier of a request for zones.
        try await alice.makeZone("A")
        _ = try await alice.ask(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("B"))], operationID: "zones-1"))
        let collision = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.create, "d")], operationID: "zones/zones-1"))
        #expect(collision?.error.code == .badRequest)
    }

    /// The format in which outcomes were stored before they had a digest.
    @Test func outcomeOfFirstFormatIsRead() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "hut", [beds(1)])])
        let store = try await world.service.storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        try await store.write { writer in
            try writer.put(
                outcome: [1, 0, 0, 0, 1, 0, 0, 0, 0, 3] + Array("hut".utf8),
                of: OperationKey(user: alice.name, device: "phone", operation: "save-1"),
                expiresMilliseconds: .max)
        }
        let again = try await alice.modify([hut(.create, "hut")], operationID: "save-1")
        #expect(again[0].values == ["beds": .int64(1)])
        let other = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.create, "a"), hut(.create, "b")], operationID: "save-1"))
        #expect(other?.error.code == .badRequest)
    }

    /// A short request can conflict with many large records: its outcome must not copy them.
    @Test func conflictOutcomeIsStoredWithoutServerRecord() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        try await alice.modify([
            hut(.create, "hut", [text("note", String(repeating: "x", count: 100_000))])
        ])
        let operations = [hut(.create, "new"), hut(.update, "hut", [beds(1)], tag: "stale")]
        let first = try await alice.modify(operations, operationID: "save-1")
        #expect(first[1].failed?.serverRecord != nil)
        let again = try await alice.modify(operations, operationID: "save-1")
        #expect(again[0] == first[0])
        #expect(again[1].failed?.error == first[1].failed?.error)
        #expect(again[1].failed?.serverRecord == first[1].failed?.serverRecord)
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let key = OperationKey(user: alice.name, device: "phone", operation: "save-1")
        let outcome = try #require(try await store.read { try $0.outcome(of: key) })
        #expect(outcome.count < 1_000)
    }

    /// An outcome is kept for a week and counts for no quota, also when the request changed nothing.
    @Test func outcomeOmitsNamesThatTheRequestGives() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        let names = (0..<50).map { String(repeating: "x", count: 200) + "\($0)" }
        let operations =
            names.map { hut(.forceDelete, $0) }
            + [hut(.update, names[0] + "y", tag: "1.abcd"), hut(.create, "hut")]
        let first = try await alice.modify(operations, operationID: "save-1")
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let key = OperationKey(user: alice.name, device: "phone", operation: "save-1")
        let outcome = try #require(try await store.read { try $0.outcome(of: key) })
        #expect(outcome.count < 1_000)
        let again = try await alice.modify(operations, operationID: "save-1")
        #expect(again.map(\.name) == first.map(\.name))
        #expect(again.map(\.name) == names + [names[0] + "y", "hut"])
        #expect(again[50].code == .notFound)
        #expect(again[51] == first[51])
    }

    /// A release that would misread the omitted names refuses the format instead. Outcomes that were kept under the
    /// earlier format are read.
    @Test func outcomeThatOmitsNamesHasItsOwnFormat() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        let operations = [hut(.create, "hut"), hut(.update, "other", tag: "1.abcd")]
        let first = try await alice.modify(operations, operationID: "save-1")
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let key = OperationKey(user: alice.name, device: "phone", operation: "save-1")
        let kept = try #require(try await store.read { try $0.outcome(of: key) })
        #expect(kept.first == 4)
        let earlier: [UInt8] = [2] + kept.dropFirst()
        try await store.write { writer in
            try writer.put(outcome: earlier, of: key, expiresMilliseconds: .max)
        }
        let again = try await alice.modify(operations, operationID: "save-1")
        #expect(again[0] == first[0])
        #expect(again.map(\.name) == ["hut", "other"])
        #expect(again[1].code == .notFound)
    }

    /// No quota counts outcomes. A device that sends without end has many of them for an hour, and does not take the
    /// week from the user's other devices.
    @Test func outcomesBeyondTheRoomOfADeviceAreKeptForAnHour() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage, limits: .with { $0.outcomeBytesPerUser = 16_000 })
        let alice = try await world.person("alice")
        for number in 0..<100 {
            let operations = [hut(.create, nil)]
            let first = try await alice.modify(operations, operationID: "save-\(number)")
            let again = try await alice.modify(operations, operationID: "save-\(number)")
            #expect(again == first)
        }
        let tablet = alice.at("tablet")
        let saved = try await tablet.modify([hut(.create, nil)], operationID: "save")
        world.advance(seconds: 6 * 86_400)
        try await tablet.modify([hut(.create, nil)], operationID: "later")
        #expect(try await tablet.modify([hut(.create, nil)], operationID: "save") == saved)
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let kept = try await store.read { reader in
            try (0..<100).filter { number in
                try reader.outcome(
                    of: OperationKey(
                        user: alice.name, device: "phone", operation: "save-\(number)")) != nil
            }
        }
        #expect((1...20).contains(kept.count))
    }

    /// A client gives its device any name: many names must not make the service forget what another account has taken.
    @Test func devicesOfOneAccountDoNotRenewTheRoomOfAnother() {
        let room = OutcomeRoom(
            limits: .with { $0.outcomeBytesPerUser = 8_000 }, world: .seeded(7), holders: 8)
        func isKeptForAWeek(_ user: String, _ device: String) -> Bool {
            let key = OperationKey(user: user, device: device, operation: "save")
            let seconds = room.seconds(
                OutcomeRoom.weekSeconds, forBytes: 700, of: key, in: world.address)
            return seconds == OutcomeRoom.weekSeconds
        }
        let kept = (0..<6).map { isKeptForAWeek("_bob", "device \($0)") }
        #expect(kept == [true, true, true, true, true, false])
        for number in 0..<20 { _ = isKeptForAWeek("_alice", "device \(number)") }
        #expect(!isKeptForAWeek("_bob", "another"))
    }

    @Test func failedRequestFreesItsOperationID() async throws {
        let alice = try await world.person("alice")
        let operation = [hut(.update, "hut", [beds(2)], tag: "1.abcd")]
        let failed = try await alice.modify(operation, operationID: "save-1")
        #expect(failed[0].code == .notFound)
        let saved = try await alice.modify([hut(.forceUpdate, "hut")], operationID: "save-1")
        #expect(saved[0].record != nil)
    }
}
