import Foundation
import StratusRecords
import StratusSQLite
import Synchronization
import Testing

@testable import StratusStorage

/// What is specific to databases in memory.
@Suite struct SQLiteMemoryTests {
    private static let container = ContainerAddress(container: "c", environment: .production)

    private static func address(_ number: Int) -> DatabaseAddress {
        DatabaseAddress(container, .private(owner: "_\(number)"))
    }

    /// No work moves to another thread: otherwise it would be missing when the executor has run out of
    /// jobs.
    @Test func everythingRunsOnTheCallersThread() {
        let executor = SteppedExecutor()
        let threads = Mutex<[ObjectIdentifier]>([])
        let note: @Sendable () -> Void = {
            threads.withLock { $0.append(ObjectIdentifier(Thread.current)) }
        }
        let isFinished = Mutex(false)
        Task(executorPreference: executor) {
            let engine = SQLiteStorageEngine.inMemory()
            try await engine.directory.createContainer(Self.container)
            let store = try await engine.store(for: Self.address(0))
            try await store.writeRecords { writer in
                note()
                try writer.enqueue([1])
            }
            for length in [ReadLength.page, .zone] {
                try await store.read(length) { reader in
                    note()
                    let bodies = try reader.outbox(limit: 9).map(\.body)
                    #expect(bodies == [[1]])
                }
            }
            let writer = try await engine.blobs(for: Self.address(0)).begin()
            try await writer.write([1])
            #expect(try await engine.databases() == [Self.address(0)])
            #expect(try await engine.check().findings == [])
            try await engine.close()
            isFinished.withLock { $0 = true }
        }
        executor.runUntilIdle()
        #expect(isFinished.withLock { $0 })
        #expect(
            threads.withLock { $0 } == Array(repeating: ObjectIdentifier(Thread.current), count: 3))
    }

    /// A closed file can be opened again, but a closed database in memory would be lost.
    @Test func inMemoryDatabasesStayOpen() async throws {
        let engine = SQLiteStorageEngine.inMemory()
        let count = 2 * StorageLimits().openDatabases
        for number in 0..<count {
            let store = try await engine.store(for: Self.address(number))
            try await store.writeRecords { try $0.enqueue([UInt8(number)]) }
        }
        #expect(try await engine.databases().count == count)
        for number in 0..<count {
            let store = try await engine.store(for: Self.address(number))
            let bodies = try await store.read { try $0.outbox(limit: 9).map(\.body) }
            #expect(bodies == [[UInt8(number)]])
        }
        try await engine.close()
    }

    /// They are copies of one template, except for what must differ.
    @Test func inMemoryDatabasesShareNothing() async throws {
        let engines = [SQLiteStorageEngine.inMemory(), SQLiteStorageEngine.inMemory()]
        var epochs: Set<Epoch> = []
        var keys: Set<[UInt8]> = []
        for engine in engines {
            keys.insert(try await engine.directory.signingKey())
            for number in 0..<2 {
                let store = try await engine.store(for: Self.address(number))
                try await store.writeRecords {
                    _ = try $0.createZone(named: "Trips", hasFeed: true)
                }
                epochs.insert(try await store.read { try $0.epoch })
            }
        }
        #expect(keys.count == 2)
        #expect(epochs.count == 4)
        let other = try await engines[0].store(for: Self.address(2))
        #expect(try await other.read { try $0.zones().map(\.name) } == ["_defaultZone"])
        for engine in engines { try await engine.close() }
    }

    /// Creates an engine with rows of all kinds, and releases it.
    private func use(_ spares: SpareDatabases) async throws -> (key: [UInt8], epoch: Epoch) {
        let engine = SQLiteStorageEngine.inMemory(world: .live, spares: spares)
        try await engine.directory.createContainer(Self.container)
        let store = try await engine.store(for: Self.address(0))
        try await store.writeRecords { writer in
            _ = try writer.createZone(named: "Trips", hasFeed: true)
            try writer.enqueue([1])
        }
        let epoch = try await store.read { try $0.epoch }
        let key = try await engine.directory.signingKey()
        try await engine.close()
        return (key, epoch)
    }

    @Test func reusedConnectionHasAnEmptyDatabase() async throws {
        let spares = SpareDatabases()
        let former = try await use(spares)
        for (kind, content) in [
            ("records", RecordFile.template.content), ("directory", DirectoryFile.template.content),
        ] {
            let spare = try #require(try spares.take(kind: kind, as: content.get()))
            spares.give(spare.queue, (), kind: kind)
        }
        let engine = SQLiteStorageEngine.inMemory(world: .live, spares: spares)
        #expect(try await engine.databases() == [])
        let store = try await engine.store(for: Self.address(0))
        #expect(try await store.read { try $0.zones().map(\.name) } == ["_defaultZone"])
        #expect(try await store.read { try $0.outbox(limit: 9) } == [])
        #expect(try await store.read { try $0.epoch } != former.epoch)
        #expect(try await engine.directory.signingKey() != former.key)
        #expect(try await engine.check().findings == [])
    }

    @Test func largeDatabaseIsNotKeptForOthers() async throws {
        let spares = SpareDatabases()
        do {
            let engine = SQLiteStorageEngine.inMemory(world: .live, spares: spares)
            try await engine.directory.createContainer(Self.container)
            let store = try await engine.store(for: Self.address(0))
            try await store.writeRecords { writer in
                try writer.enqueue(Array(repeating: 1, count: 5_000_000))
            }
            try await engine.close()
        }
        #expect(try spares.take(kind: "records", as: RecordFile.template.content.get()) == nil)
        let directory = try DirectoryFile.template.content.get()
        #expect(try spares.take(kind: "directory", as: directory) != nil)
    }

    @Test func throwingWriteIsRolledBack() async throws {
        struct Refusal: Error {}
        let engine = SQLiteStorageEngine.inMemory()
        let store = try await engine.store(for: Self.address(0))
        await #expect(throws: Refusal.self) {
            try await store.writeRecords { writer in
                try writer.enqueue([1])
                throw Refusal()
            }
        }
        #expect(try await store.read { try $0.outbox(limit: 9) } == [])
        try await store.writeRecords { try $0.enqueue([2]) }
        #expect(try await store.read { try $0.outbox(limit: 9).map(\.body) } == [[2]])
        try await engine.close()
    }
}

/// Runs tasks on the thread that calls ``runUntilIdle()``.
private final class SteppedExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func runUntilIdle() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
