import Crypto
import Foundation
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire
import Synchronization
import TestProcesses
import Testing

@testable import StratusService

/// A user's records in the public database are part of the account's archive, and are deleted with the account.
@Suite struct AccountDeletionTests {
    typealias Make = SubscriptionsTests

    /// Ida, whose account is deleted, and Ole, who keeps his.
    private struct People {
        let world: World
        let ida: Person
        let ole: Person

        init(_ world: World = World()) async throws {
            self.world = world
            ida = try await world.person("ida@example.org")
            ole = try await world.person("ole@example.org")
        }

        func end() async throws {
            let service = world.service
            try await service.deleteAccount(of: try await service.accounts.user(ida.name))
        }

        /// The names of those records that exist.
        func living(_ names: [String]) async throws -> [String] {
            try await ole.lookup(names, scope: .public).compactMap { $0.record?.recordName }
        }

        /// Sets the grants of the type Hut in the schema.
        func setGrants(_ grants: String) async throws {
            try await world.service.schemaDeployment(of: World.container).replace(
                with: ContainerSchema(
                    text: """
                        DEFINE SCHEMA RECORD TYPE Hut (beds INT64, name STRING, next REFERENCE,
                            photo ASSET, ___createdBy REFERENCE QUERYABLE,
                            ___recordID REFERENCE QUERYABLE\(grants));
                        """))
        }

        /// Queries the user's own records as an app does, so that there is an index of creators.
        func askForOwn() async throws {
            let query: QueryDictionary = try readWire(
                from: Array(
                    """
                    {"recordType": "Hut", "filterBy": [{"comparator": "EQUALS",
                     "fieldName": "___createdBy",
                     "fieldValue": {"value": {"recordName": "\(ida.name)"}}}]}
                    """.utf8))
            _ = try await ida.ask(RecordsQuery.self, .init(query: query), in: .public)
            await world.service.waitUntilIdle()
        }
    }

    private static func needing(_ name: String, _ action: Reference.Action) -> Field {
        Field(name: "next", value: .reference(Reference(recordName: name, action: action)))
    }

    private static func archive(of person: Person) async throws -> [String: String] {
        let bytes = Mutex<[UInt8]>([])
        let service = person.world.service
        try await service.writeArchive(of: try await service.accounts.user(person.name)) { piece in
            #expect(piece.count <= 1_000_000)
            bytes.withLock { $0 += piece }
        }
        return try tarFiles(bytes.withLock { $0 }).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    /// - Parameter isIndexed: Whether there is an index of the records' creators.
    @Test(arguments: [false, true])
    func archiveContainsOnlyOwnPublicRecords(_ isIndexed: Bool) async throws {
        let people = try await People()
        let picture = try await people.ida.upload(Array("a hut".utf8), scope: .public)
        for start in stride(from: 0, to: 600, by: 200) {
            try await people.ida.modify(
                (start..<(start + 200)).map { hut(.create, "i\($0)") }, scope: .public)
        }
        try await people.ida.modify(
            [hut(.create, "ida", [photo(picture)])], scope: .public)
        try await people.ole.modify(
            [hut(.create, "ole"), hut(.create, "changed")], scope: .public)
        if isIndexed { try await people.askForOwn() }
        let files = try await Self.archive(of: people.ida)
        let folder = "\(World.container)/development/public/"
        let lines = files.filter { $0.key.hasPrefix(folder + "records-") }
            .flatMap { $0.value.split(separator: "\n") }
        let names = try lines.map { line in
            let record: RecordDictionary = try readWire(from: Array(line.utf8))
            return try #require(record.recordName)
        }
        #expect(names.count == 601)
        #expect(Set(names) == Set((0..<600).map { "i\($0)" } + ["ida"]))
        #expect(files[folder + "assets/000001"] == "a hut")
        #expect(lines.contains { $0.contains("\"assets/000001\"") })
        #expect(try await Self.archive(of: people.ole).values.allSatisfy { !$0.contains("\"i7\"") })
    }

    /// If every type has an index of its records' creators, no other user's record is read.
    @Test func creatorIndexAvoidsReadingRecordsOfOthers() async throws {
        let people = try await People()
        try await people.ole.modify((0..<200).map { hut(.create, "o\($0)") }, scope: .public)
        try await people.ida.modify([hut(.create, "a"), hut(.create, "b")], scope: .public)
        func stretches() async throws -> (names: [String], count: Int) {
            var found: [String] = []
            var count = 0
            let context = RequestContext(
                owner: people.ida.name, at: people.world.address, scope: .public,
                limits: .with { $0.recordsPerStep = 20 },
                world: people.world.service.settings.world)
            var created = try await people.world.service.components.ownRequests
                .created(by: people.ida.name, in: context)
            while let names = try await created.next() {
                found += names
                count += 1
            }
            return (found, count)
        }
        let scanned = try await stretches()
        #expect(scanned.names == ["a", "b"] && scanned.count == 11)
        try await people.askForOwn()
        let indexed = try await stretches()
        #expect(indexed.names == ["a", "b"] && indexed.count == 1)
    }

    @Test(arguments: [false, true])
    func deletionRemovesOwnPublicRecordsAndAssets(_ isIndexed: Bool) async throws {
        let people = try await People(World(try Backend.sqlite.storage()))
        let (ida, ole) = (people.ida, people.ole)
        let listener = ole.at("tablet")
        let token = try await listener.listen()
        try await ole.subscribe([Make.query("gone", on: [.delete])], in: .public)
        try await ida.subscribe([Make.query("mine", on: [.create])], in: .public)
        let picture = try await ida.upload(Array("a hut".utf8), scope: .public)
        try await ida.modify(
            [hut(.create, "a", [photo(picture), beds(3)]), hut(.create, "b")], scope: .public)
        // One of Ole's records that Ida changed, and one that refers to hers.
        try await ole.modify(
            [hut(.create, "o"), hut(.create, "with a", [Self.needing("a", .deleteSelf)])],
            scope: .public)
        try await people.setGrants(#", GRANT READ, CREATE, WRITE TO "_icloud""#)
        #expect(
            try await ida.modify([hut(.forceUpdate, "o", [beds(7)])], scope: .public)[0].code == nil
        )
        if isIndexed { try await people.askForOwn() }
        try await people.end()
        await people.world.service.waitUntilIdle()

        #expect(try await people.living(["a", "b", "with a", "o"]) == ["o"])
        #expect(try await ole.lookup(["o"], scope: .public)[0].values["beds"] == .int64(7))
        // Each one is an ordinary deletion.
        let gone = try await listener.received(token).compactMap { payload -> String? in
            guard case .query(let name, .recordDeleted, _, _) = payload.cause else { return nil }
            return name
        }
        #expect(Set(gone) == ["a", "b", "with a"])
        let store = try await people.world.service.storage.store(
            for: DatabaseAddress(people.world.address, .public))
        let left = try await store.read { try $0.subscriptions(of: nil).map(\.identifier) }
        #expect(left == ["gone"])
        let digest = Array(SHA256.hash(data: Array("a hut".utf8)))
        #expect(try await store.read { try $0.asset(digest)?.references } == 0)
        await #expect(throws: ServiceError.self) {
            try await people.world.service.accounts.user(ida.name)
        }
        let storage = try #require(people.world.service.storage as? SQLiteStorageEngine)
        #expect(try await Doctor(storage: storage).examine().findings == [])
    }

    /// Searching all users' records takes long if there are many; other requests run between two reads.
    @Test func searchForOwnRecordsYieldsBetweenReads() async throws {
        let world = World(try Backend.sqlite.storage(), limits: .with { $0.recordsPerStep = 5 })
        let people = try await People(world)
        try await people.ole.modify((0..<100).map { hut(.create, "o\($0)") }, scope: .public)
        let context = RequestContext(
            owner: people.ida.name, at: world.address, scope: .public,
            limits: world.service.settings.limits, world: world.service.settings.world)
        var created = try await world.service.components.ownRequests
            .created(by: people.ida.name, in: context)
        let executor = CountingExecutor()
        var reads = 0
        try await withTaskExecutorPreference(executor) {
            while try await created.next() != nil { reads += 1 }
        }
        #expect(reads >= 20 && executor.jobs >= reads, "\(executor.jobs) of \(reads)")
    }

    /// A record to which another user's record refers is emptied and kept; records to which only own ones refer are
    /// deleted in any order.
    @Test func recordsReferencedByOthersAreEmptied() async throws {
        let people = try await People()
        try await people.ida.modify(
            [hut(.create, "needed", [beds(3), text("name", "Ida's")])], scope: .public)
        try await people.ole.modify(
            [hut(.create, "o", [Self.needing("needed", .validate)])], scope: .public)
        // A chain of own records over several pages, targets first, and two that refer to each other.
        try await people.ida.modify([hut(.create, "a0")], scope: .public)
        for number in 1..<120 {
            try await people.ida.modify(
                [hut(.create, "a\(number)", [Self.needing("a\(number - 1)", .validate)])],
                scope: .public)
        }
        try await people.ida.modify(
            [
                hut(.create, "a", [Self.needing("z", .validate)]),
                hut(.create, "z", [Self.needing("a", .validate)]),
            ], scope: .public)
        try await people.end()
        #expect(
            try await people.living(["needed", "o", "a", "z"] + (0..<120).map { "a\($0)" })
                == ["needed", "o"])
        #expect(try await people.ole.lookup(["needed"], scope: .public)[0].values == [:])
    }

    /// A deletion may remove the last reference to another record, several times in a row: everything that can be
    /// deleted is deleted.
    @Test func recordsAreDeletedOnceTheirLastReferenceIs() async throws {
        let people = try await People()
        let (ida, ole) = (people.ida, people.ole)
        // Four requests of 50; each record is the target of one of Ole's, which is deleted with the one 50 further on.
        let names = (100..<300).map { "i\($0)" }
        try await ida.modify(names.map { hut(.create, $0) }, scope: .public)
        try await ole.modify(
            zip(names, names.dropFirst(50)).map { needed, next in
                let reference = Reference(recordName: needed, action: .validate)
                return hut(
                    .create, "with \(next)",
                    [
                        Field(name: "other", value: .reference(reference)),
                        Self.needing(next, .deleteSelf),
                    ])
            }, scope: .public)
        let some = [names[0], names[60], names[149], names[199], "with i150", "with i299"]
        #expect(try await people.living(some) == some)
        try await people.end()
        #expect(try await people.living(some) == [])
        #expect(try await people.living(Array(names.prefix(150))) == [])
    }

    /// A schema may forbid all users to read or delete records of a type; exporting and deleting the account includes
    /// them anyway.
    @Test func grantsDoNotRestrictArchiveAndDeletion() async throws {
        let people = try await People()
        try await people.ida.modify([hut(.create, "vote")], scope: .public)
        try await people.setGrants(#", GRANT CREATE TO "_icloud""#)
        #expect(try await people.ida.lookup(["vote"], scope: .public)[0].code == .accessDenied)
        let files = try await Self.archive(of: people.ida)
        #expect(files.values.contains { $0.contains("\"vote\"") })
        try await people.end()
        let store = try await people.world.service.storage.store(
            for: DatabaseAddress(people.world.address, .public))
        let row = try await store.read { reader in
            let zone = try reader.livingZone(named: ZoneID.defaultZoneName)
            return try zone.flatMap { try reader.records(named: ["vote"], in: $0.key)["vote"] }
        }
        #expect(row?.isDeleted == true)
    }

    /// The service's process ends after every few writes, and the next one continues.
    @Test func deletionContinuesAfterEveryRestart() async throws {
        let inner = try #require(try Backend.sqlite.storage() as? SQLiteStorageEngine)
        let people = try await People(World(inner))
        let (ida, ole) = (people.ida, people.ole)
        try await ida.makeZone("Trips")
        try await ida.modify([hut(.create, "private")], in: "Trips")
        try await ida.modify([hut(.create, "in default")])
        let names = (0..<230).map { "i\($0)" }
        try await ida.modify(names.map { hut(.create, $0) }, scope: .public)
        try await ole.modify(
            [hut(.create, "o", [Self.needing("i7", .validate)])], scope: .public)
        await people.world.service.waitUntilIdle()

        try await people.world.service.accounts.beginRemoval(of: ida.name)
        var starts = 0
        var left = names.count
        while try await inner.directory.user(recordName: ida.name) != nil, starts < 100 {
            starts += 1
            // A referenced record is refused, then emptied and deleted again: that takes several writes of one process.
            let mortal = WatchedStorage.mortal(inner, writes: 2 + starts / 8)
            let next = World(mortal)
            try await next.service.resumeLongChanges()
            await next.service.waitUntilIdle()
            // Other users are served between two of them, and Ida cannot sign in.
            let now = try await people.living(names).count
            #expect(now <= left)
            left = now
        }
        #expect(starts > 3 && starts < 100)
        #expect(try await people.living(names + ["o"]) == ["i7", "o"])
        let own = try await inner.store(
            for: DatabaseAddress(people.world.address, .private(owner: ida.name)))
        #expect(try await own.read { try $0.zones().map(\.name) } == [ZoneID.defaultZoneName])
        #expect(try await Doctor(storage: inner).examine().findings == [])
    }

    /// Archive and deletion ask for no more at a time than a client may.
    ///
    /// - Parameter areBytesLimited: Whether the bytes of a request's records are limited, or else its items.
    @Test(arguments: [false, true])
    func smallLimitsDoNotPreventArchiveAndDeletion(_ areBytesLimited: Bool) async throws {
        let limits = Limits.with {
            if areBytesLimited {
                $0.recordBytes = 1_000
                $0.recordBytesPerLookup = 2_000
                $0.recordBytesPerModify = 2_000
            } else {
                $0.operationsPerRequest = 2
            }
        }
        let people = try await People(World(limits: limits))
        let names = (0..<5).map { "i\($0)" }
        for name in names {
            try await people.ida.makeZone(name)
            try await people.ida.subscribe([Make.query(name, on: [.delete])], in: .public)
            try await people.ida.modify(
                [hut(.create, name, [text("name", String(repeating: "x", count: 700))])],
                scope: .public)
        }
        let lines = try await Self.archive(of: people.ida)
            .filter { $0.key.contains("/public/records-") }
            .flatMap { $0.value.split(separator: "\n") }
        #expect(lines.count == names.count)
        try await people.end()
        for name in names { #expect(try await people.living([name]) == []) }
    }

    /// From the beginning of the deletion the user is signed out, and an operator cannot enable the account again.
    @Test func accountBeingDeletedRefusesSignIn() async throws {
        let people = try await People()
        let accounts = people.world.service.accounts
        try await accounts.beginRemoval(of: people.ida.name)
        let refusal = await people.ida.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .authenticationRequired)
        await #expect(throws: ServiceError.self) {
            try await accounts.setDisabled(false, people.ida.name)
        }
        // Without the account no start of the service would delete the rest of the records.
        let refused = await #expect(throws: ServiceError.self) {
            try await accounts.deleteUser(people.ida.name)
        }
        #expect(refused == ServiceError.removalUnderWay)
        #expect(try await accounts.user(people.ida.name).isBeingRemoved)
    }

    /// Participants lose the deleted user's shares, and the user leaves the shares of others.
    @Test func deletionEndsOwnSharesAndLeavesOthers() async throws {
        let people = try await People()
        let (ida, ole) = (people.ida, people.ole)
        var guids: [String] = []
        for (owner, guest) in [(ida, ole), (ole, ida)] {
            try await owner.makeZone("Trips")
            try await owner.modify([hut(.create, "root")], in: "Trips")
            let made = try await owner.modify(
                [share(.create, "S", of: "root", participants: [invited(guest)])], in: "Trips")
            guids.append(try #require(made[0].record?.shortGUID))
            #expect(try await guest.accept(guids.last ?? "").error == nil)
        }
        try await ole.subscribe([Make.database("shared")], in: .shared)
        try await people.end()
        await people.world.service.waitUntilIdle()
        #expect(try await ole.ask(ZonesList.self, .init(), in: .shared).items.isEmpty)
        #expect(try await ole.lookup(["root"], in: "Trips")[0].record != nil)
        let left = try #require(
            try await ole.lookup(["S"], in: "Trips")[0].record?.share?.participants)
        // Her name and address are gone too, since she can never join again.
        #expect(left.map(\.role) == [.owner])
    }
}

/// Runs tasks, and counts how many of their steps ran.
private final class CountingExecutor: TaskExecutor {
    private let count = Mutex(0)
    private let queue = DispatchQueue(label: "counting")

    var jobs: Int { count.withLock { $0 } }

    func enqueue(_ job: consuming ExecutorJob) {
        count.withLock { $0 += 1 }
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
