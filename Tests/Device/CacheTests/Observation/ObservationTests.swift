import Foundation
import Observation
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusCache

/// What an observer of a query gets: every change, with its author, and at which cost.
@Suite struct ObservationTests {
    private typealias Note = CacheQueryTests.Note
    private let open = CacheQuery("Note").where(Note.isDone == false).sorted(by: Note.rank)

    private func names(_ update: QueryUpdate?) -> [String] {
        update?.records.map(\.recordID.recordName) ?? []
    }

    private func kinds(_ update: QueryUpdate?) -> [String] {
        update?.changes.map { "\($0.recordID.recordName) \($0.kind) \($0.author)" } ?? []
    }

    @Test func updateListsInsertedChangedAndRemovedRecords() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        try await cache.save(CacheQueryTests.note("a", "A", rank: 1))
        var updates = try cache.observe(open).makeAsyncIterator()
        var update = try await updates.next()
        #expect(names(update) == ["a"])
        #expect(kinds(update).isEmpty)
        try await cache.save([
            CacheQueryTests.note("b", "B", rank: 0),
            CacheQueryTests.note("c", "C", rank: 2, isDone: true),
        ])
        update = try await updates.next()
        #expect(names(update) == ["b", "a"])
        #expect(kinds(update) == ["b inserted thisDevice"])
        let first = try #require(update?.records[0])
        first["isDone"] = true
        try await cache.save(first)
        update = try await updates.next()
        #expect(kinds(update) == ["b removed thisDevice"])
        let last = try #require(update?.records[0])
        last["rank"] = 7
        try await cache.save(last)
        try await cache.delete(CKRecord.ID(recordName: "c", zoneID: CacheQueryTests.zone))
        update = try await updates.next()
        #expect(kinds(update) == ["a changed thisDevice"])
        #expect(update?.records[0]["rank"] == 7)
        try await cache.deleteZone(CacheQueryTests.zone)
        #expect(kinds(try await updates.next()) == ["a removed thisDevice"])
    }

    /// The service reports who changed a record, but not who deleted it.
    @Test func updateNamesItsAuthor() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await CloudDevice.pair(cloud, ["a": "1"])
        var updates = try phone.cache.observe(CacheQuery("Item")).makeAsyncIterator()
        #expect(names(try await updates.next()) == ["a"])
        try tablet.save("a", "2")
        try tablet.save("b", "2")
        try await tablet.cache.sync()
        try await phone.cache.sync()
        #expect(
            kinds(try await updates.next()) == ["a changed otherDevice", "b inserted otherDevice"])
        try tablet.delete("b")
        try await tablet.cache.sync()
        try await phone.cache.sync()
        #expect(kinds(try await updates.next()) == ["b removed unknown"])
        let store = phone.cache.store
        let author = try await store.pool.read {
            try store.author(
                of: RecordID(name: "a", zoneID: ZoneID(name: "List")),
                .service(modifier: "_bob"), $0)
        }
        #expect(author == .person(CKRecord.ID(recordName: "_bob")))
    }

    /// A record ID with an empty name would end the process.
    @Test func changeOfAnUnnamedUserHasAnUnknownAuthor() async throws {
        await #expect(processExitsWith: .success) {
            let (phone, tablet) = try await CloudDevice.pair(TestCloud(), ["a": "1"])
            phone.transport.tap { _, answer in
                guard var changes = answer as? ChangesZone.Answer else { return answer }
                changes.items = changes.items.map { $0.map { $0.withoutModifiers() } }
                return changes
            }
            var updates = try phone.cache.observe(CacheQuery("Item")).makeAsyncIterator()
            _ = try await updates.next()
            try tablet.save("a", "2")
            try await tablet.cache.sync()
            try await phone.cache.sync()
            let update = try await updates.next()
            try #require(update?.changes.map(\.author) == [.unknown])
        }
    }

    /// Ten observers, and changes that do not concern them: no snapshot is read.
    @Test func unrelatedChangesCauseNoReads() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        try await cache.save(CacheQueryTests.note("a", "A", rank: 1))
        var all: [CacheObservation.Iterator] = []
        for _ in 0..<10 {
            var updates = try cache.observe(open).makeAsyncIterator()
            #expect(names(try await updates.next()) == ["a"])
            all.append(updates)
        }
        let before = cache.file.snapshotsRead.load(ordering: .relaxed)
        for number in 0..<20 {
            // Another type, another record, and the deletion of a record that never matched.
            try device.save("item \(number)", "x")
            try await cache.save(
                CacheQueryTests.note("done \(number % 5)", "D", rank: number, isDone: true))
        }
        try await cache.delete(CKRecord.ID(recordName: "done 1", zoneID: CacheQueryTests.zone))
        try device.delete("item 3")
        // This is the next change that they get.
        try await cache.save(CacheQueryTests.note("b", "B", rank: 2))
        for index in all.indices {
            #expect(kinds(try await all[index].next()) == ["b inserted thisDevice"])
        }
        #expect(cache.file.snapshotsRead.load(ordering: .relaxed) - before == 10)
    }

    /// After any writes, in transactions of any size, the observer has the records of the query, and applying the
    /// reported changes gives the same records. Pages are tested too.
    @Test(arguments: Seeds.forTest("ObservationTests", count: 8))
    func updatesFollowRandomWrites(_ seed: UInt64) throws {
        var script = HutScript(seed: seed)
        let device = try Device(RealService())
        let cache = device.cache
        if script.numbers.next() % 2 == 0 { try cache.file.declare(QueryParityTests.types) }
        var queries = (0..<4).map { _ in CacheQuery(script.query()) }
        queries.append(CacheQuery("Hut").sorted(by: "beds", ascending: false).limited(to: 4))
        queries.append(CacheQuery("Hut").limited(to: 1))
        let observers = try queries.map { query in
            let compiled = try query.compiled(now: cache.world.now)
            let (notes, wakes) = cache.observers.watch(.query(compiled), in: .private)
            return (QueryObserver(cache.store, compiled, notes), wakes)
        }
        var seen = try observers.map { Set(try #require(try $0.0.update()).records.recordIDs) }
        for _ in 0..<40 {
            for _ in 0..<(script.numbers.next() % 4) {
                let id = CKRecord.ID(
                    recordName: "hut \(script.numbers.next() % 12)", zoneID: QueryParityTests.zone)
                if script.numbers.next() % 3 == 0 {
                    try cache.delete(id)
                } else {
                    let new = script.record(id.recordName, in: id.zoneID)
                    let old = try cache.record(for: id) ?? new
                    for key in new.allKeys() {
                        old.setObject(new.object(forKey: key), forKey: key)
                    }
                    try cache.save(old)
                }
            }
            for index in observers.indices {
                let expected = try cache.records(matching: queries[index]).map(\.recordID)
                if let update = try observers[index].0.update() {
                    for change in update.changes {
                        switch change.kind {
                        case .inserted: #expect(seen[index].insert(change.recordID).inserted)
                        case .removed: #expect(seen[index].remove(change.recordID) != nil)
                        case .changed: #expect(seen[index].contains(change.recordID))
                        }
                    }
                    #expect(update.records.recordIDs == expected)
                }
                #expect(seen[index] == Set(expected), "\(queries[index])")
            }
        }
    }

    /// Writers in their own tasks, and an observer at its own speed.
    @Test(.timeLimit(.minutes(20))) func changesOfConcurrentWritersAreObserved() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        let query = CacheQuery("Note").where(Note.rank >= 0).sorted(by: Note.rank)
        let observation = try cache.observe(query)
        let follower = Task {
            var seen: Set<CKRecord.ID> = []
            for try await update in observation {
                for change in update.changes {
                    if change.kind == .removed {
                        seen.remove(change.recordID)
                    } else {
                        seen.insert(change.recordID)
                    }
                }
                if update.changes.isEmpty { seen = Set(update.records.recordIDs) }
                #expect(seen == Set(update.records.recordIDs))
                if update.records.contains(where: { $0.recordID.recordName == "end" }) { break }
            }
            return seen
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<25 {
                        let name = "\(writer) \(number % 10)"
                        try await cache.save(
                            CacheQueryTests.note(name, "x", rank: number % 3 == 0 ? -1 : number))
                        if number % 7 == 0 {
                            try await cache.delete(
                                CKRecord.ID(recordName: name, zoneID: CacheQueryTests.zone))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await cache.save(CacheQueryTests.note("end", "x", rank: 99))
        let expected = try await cache.records(matching: query).map(\.recordID)
        #expect(try await follower.value == Set(expected))
    }

    /// A second cache on the same file stands for another process.
    @Test(.timeLimit(.minutes(20))) func changesOfAnotherProcessAreSeen() async throws {
        let device = try Device(RealService())
        let other = try CloudCache(path: device.path, remotes: [device.remote])
        var updates = try device.cache.observe(open).makeAsyncIterator()
        #expect(names(try await updates.next()).isEmpty)
        try await other.save(CacheQueryTests.note("theirs", "T", rank: 1))
        #expect(kinds(try await updates.next()) == ["theirs inserted thisDevice"])
        try await other.delete(CKRecord.ID(recordName: "theirs", zoneID: CacheQueryTests.zone))
        #expect(try await updates.next()?.records.isEmpty == true)
        try other.close()
    }

    @Test(.timeLimit(.minutes(20))) func observationEndsWithItsCache() async throws {
        let device = try Device(RealService())
        var cache: CloudCache? = try CloudCache(
            path: NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite",
            remotes: [device.remote])
        weak let dropped = cache
        let observation = try #require(try cache?.observe(open))
        let one = try #require(try cache?.observe(CKRecord.ID(recordName: "a", zoneID: .list)))
        let (first, firstSeen) = AsyncStream.makeStream(of: Void.self)
        let follower = Task {
            var count = 0
            for try await _ in observation {
                count += 1
                firstSeen.yield()
            }
            for try await _ in one { count += 1 }
            return count
        }
        for await _ in first { break }
        cache = nil
        #expect(dropped == nil)
        #expect(try await follower.value == 1)
        // A cancelled observation is removed.
        let given = try device.cache.observe(open)
        let quitter = Task { for try await _ in given {} }
        quitter.cancel()
        try await quitter.value
        #expect(device.cache.observers.rowObserverCount == 0)
    }

    /// A cancelled loop has not failed: its sequence ends, whichever it is.
    @Test func everySequenceEndsInACancelledTask() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        let id = CKRecord.ID(recordName: "a", zoneID: CacheQueryTests.zone)
        let (all, one) = (try cache.observe(open), try cache.observe(id))
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in all { Issue.record("An update was read.") }
            for try await _ in one { Issue.record("A record was read.") }
            for try await _ in cache.reportStream() { Issue.record("A report was read.") }
            for try await _ in cache.statuses() { Issue.record("A status was read.") }
        }.value
    }

    /// An observer that failed to read misses nothing: it starts again.
    @Test func observerRecoversAfterAnError() throws {
        let device = try Device(RealService())
        let cache = device.cache
        try cache.save(CacheQueryTests.note("a", "A", rank: 1))
        let compiled = try open.compiled(now: cache.world.now)
        let (notes, wakes) = cache.observers.watch(.query(compiled), in: .private)
        let observer = QueryObserver(cache.store, compiled, notes)
        #expect(names(try observer.update()) == ["a"])
        try cache.save(CacheQueryTests.note("b", "B", rank: 2))
        let pool = try cache.file.pool
        try pool.write { try $0.execute(sql: "UPDATE record SET fields = x'01' WHERE name = 'b'") }
        #expect(throws: CacheError.self) { try observer.update() }
        try pool.write { try $0.execute(sql: "UPDATE record SET fields = '{}' WHERE name = 'b'") }
        try cache.save(CacheQueryTests.note("b", "B", rank: 2))
        #expect(names(try observer.update()) == ["a", "b"])
        withExtendedLifetime(wakes) {}
    }

    @Test func singleRecordIsObserved() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        let id = CKRecord.ID(recordName: "a", zoneID: CacheQueryTests.zone)
        var updates = try cache.observe(id).makeAsyncIterator()
        var update = try await updates.next()
        #expect(update?.record == nil && update?.author == nil)
        try await cache.save([
            CacheQueryTests.note("a", "A", rank: 1), CacheQueryTests.note("b", "B", rank: 1),
        ])
        update = try await updates.next()
        #expect(update?.record?["title"] == "A")
        #expect(update?.author == .thisDevice)
        try await cache.delete(id)
        #expect(try await updates.next()?.record == nil)
    }

    @MainActor @Test(.timeLimit(.minutes(20))) func liveRecordsAreObservable() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        var live: LiveRecords? = try LiveRecords(open, of: cache)
        func waitUntil(_ isDone: @escaping @MainActor (LiveRecords) -> Bool) async {
            while let current = live, !isDone(current) {
                await withCheckedContinuation { continuation in
                    withObservationTracking {
                        _ = (current.records, current.isLoaded)
                    } onChange: {
                        continuation.resume()
                    }
                }
                await Task.yield()
            }
        }
        await waitUntil { $0.isLoaded }
        try await cache.save(CacheQueryTests.note("a", "A", rank: 1))
        await waitUntil { $0.records.count == 1 }
        #expect(live?.changes.map(\.kind) == [.inserted])
        #expect(live?.records.first?["title"] == "A")
        weak let dropped = live
        live = nil
        // Its task finishes its current work first.
        while dropped != nil { await Task.yield() }
    }
}

extension ChangesZone.Page {
    /// The page as of a service that does not name the users who changed the records.
    fileprivate func withoutModifiers() -> Self {
        var page = self
        page.records = records.map { result in
            guard case .record(var record) = result else { return result }
            record.modified?.userRecordName = ""
            return .record(record)
        }
        return page
    }
}
