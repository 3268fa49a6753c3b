import Dispatch
import StratusRecords
import StratusStorage

extension StoreConformance {
    /// How long a case waits for another task, in seconds.
    private static let patienceSeconds = 120

    static let concurrency: [Case] = [
        Case("many writers: versions stay dense, and each gets its own outcome") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let writers = 200
            let taken = try await withThrowingTaskGroup(of: ClosedRange<Int64>?.self) { group in
                for writer in 0..<writers {
                    group.addTask { try await saveOrRefuse(writer, in: zone, of: store) }
                }
                var taken: [ClosedRange<Int64>] = []
                for try await versions in group { if let versions { taken.append(versions) } }
                return taken
            }
            // Two of three succeed, with one to three records each.
            let all = taken.flatMap { Array($0) }.sorted()
            try expect(all, equals: Array(1...Int64(all.count)))
            try expect(taken.count, equals: writers - (writers + 2) / 3)
            let page = try await store.read {
                try $0.changes(in: zone, after: .after(0), limit: 10_000)
            }
            try expect(page.rows.map(\.version), equals: all)
            try expect(
                page.rows.allSatisfy { !$0.name.hasPrefix("refused") }, "a refused row stayed")
        },

        Case("a reader that follows the feed misses nothing while others write") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let writing = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<100 {
                        group.addTask { _ = try await saveOrRefuse(writer, in: zone, of: store) }
                    }
                    try await group.waitForAll()
                }
            }
            let finished = Flag()
            let watch = Task {
                _ = await writing.result
                finished.set()
            }
            var cursor: Int64 = 0
            var seen: [Int64] = []
            while true {
                // Asked before the page, so that the last page comes after the last write.
                let isLast = finished.isSet
                let page = try await store.read { [cursor] in
                    try $0.changes(in: zone, after: .after(cursor), limit: 7)
                }
                try expect(page.version >= cursor, "the feed went back")
                seen += page.rows.map(\.version)
                cursor = page.version
                if isLast, !page.moreComing { break }
                await Task.yield()
            }
            try await writing.value
            await watch.value
            try expect(seen, equals: Array(1...Int64(seen.count)))
            let version = try await store.read { try $0.zone(named: "Trails")?.version }
            try expect(version, equals: cursor)
        },

        Case("a read sees nothing of a write that is not committed") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in 0..<40 {
                    group.addTask {
                        try await store.writeRecords { writer in
                            for name in ["a", "b", "c"] {
                                _ = try writer.save(["\(batch).\(name)"], in: zone)
                            }
                        }
                    }
                    group.addTask {
                        let page = try await store.read {
                            try $0.changes(in: zone, after: .after(0), limit: 999)
                        }
                        try expect(page.rows.count % 3, equals: 0)
                    }
                }
                try await group.waitForAll()
            }
        },

        Case("writes that wait run in the order in which they came") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let names = (0..<150).map { "\($0)" }
            // One thread for all: each task runs until it waits for its outcome, then the next one begins.
            let thread = OwnThread()
            let writes = names.map { name in
                Task(executorPreference: thread) {
                    try await store.writeRecords { _ = try $0.save([name], in: zone) }
                }
            }
            for write in writes { try await write.value }
            let page = try await store.read {
                try $0.changes(in: zone, after: .after(0), limit: 999)
            }
            try expect(page.rows.map(\.name), equals: names)
        },
    ]

    /// Guarantees of engines whose reads continue during a write of the same database, on a snapshot from before
    /// it. In memory reads and writes take turns instead.
    public static let snapshotCases: [Case] = [
        Case("a read sees one state while a write is committed meanwhile") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            let begun = DispatchSemaphore(value: 0)
            let written = DispatchSemaphore(value: 0)
            let read = onOwnThread {
                try await store.read { reader in
                    let before = try reader.changes(in: zone, after: .after(0), limit: 9)
                    begun.signal()
                    try wait(for: written)
                    let after = try reader.changes(in: zone, after: .after(0), limit: 9)
                    return (before, after)
                }
            }
            let write = onOwnThread {
                try await store.writeRecords { writer in
                    try wait(for: begun)
                    try writer.save(["b"], in: zone)
                }
            }
            _ = try await write.value
            written.signal()
            let (before, after) = try await read.value
            try expect(after, equals: before)
            let now = try await store.read { try $0.zone(named: "Trails")?.version }
            try expect(now, equals: 2)
        },

        Case("a read does not wait for a write, and does not see it before its commit") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let begun = DispatchSemaphore(value: 0)
            let mayEnd = DispatchSemaphore(value: 0)
            let write = onOwnThread {
                try await store.writeRecords { writer in
                    try writer.save(["a"], in: zone)
                    begun.signal()
                    try wait(for: mayEnd)
                }
            }
            let read = onOwnThread {
                try await store.read { reader in
                    try wait(for: begun)
                    return try reader.changes(in: zone, after: .after(0), limit: 9)
                }
            }
            let page = try await read.value
            mayEnd.signal()
            try await write.value
            try expect(page, equals: ChangePage(rows: [], version: 0, moreComing: false))
        },
    ]

    /// Saves one to three records; every third writer throws an error and expects to get the same one.
    private static func saveOrRefuse(
        _ writer: Int, in zone: ZoneRow.Key, of store: any RecordStore
    ) async throws -> ClosedRange<Int64>? {
        let refuses = writer.isMultiple(of: 3)
        let names = (0...(writer % 3)).map { "\(refuses ? "refused" : "kept").\(writer).\($0)" }
        do {
            return try await store.writeRecords { transaction in
                let versions = try transaction.save(names, in: zone)
                if refuses { throw Refusal(number: writer) }
                return versions
            }
        } catch let refusal as Refusal where refuses {
            try expect(refusal.number, equals: writer)
            return nil
        }
    }

    /// Waits on a thread that may block, with a timeout.
    private static func wait(for semaphore: DispatchSemaphore) throws {
        let outcome = semaphore.wait(timeout: .now() + .seconds(patienceSeconds))
        try expect(outcome == .success, "the other task did not arrive in time")
    }

    /// Runs `body` on a thread outside Swift's pool, where a closure may wait for another.
    private static func onOwnThread<Outcome: Sendable>(
        _ body: @escaping @Sendable () async throws -> Outcome
    ) -> Task<Outcome, any Error> {
        Task(executorPreference: OwnThread(), operation: body)
    }
}

/// A separate thread for a task that waits.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "stratus.conformance")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
