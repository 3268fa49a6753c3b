import Foundation
import GRDB
import Logging
import StratusRecords
import StratusRuntime
import StratusTesting
import Synchronization
import Testing

@testable import StratusStorage

/// Which databases keep their logs when they are closed because too many are open.
@Suite struct KeptLogLimitTests {
    private static func address(_ number: Int) -> DatabaseAddress {
        DatabaseAddress(
            ContainerAddress(container: "iCloud.org.example.Trails", environment: .production),
            .private(owner: "_\(number)"))
    }

    private static func databases(_ placement: CountedPlacement) -> OpenDatabases {
        OpenDatabases(placement, world: .seeded(1), logger: Logger(label: "test"))
    }

    /// Each log's index has 32 kB: from the 2,000th on a database is closed in SQLite's usual way.
    @Test func noMoreThanTwoThousandLogsAreKept() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        for number in 0..<2_010 { try await databases.use(Self.address(number)) { _ in } }
        #expect(placement.closings.count { $0.keepsLog } == 2_000)
        #expect(placement.closings.suffix(9).allSatisfy { !$0.keepsLog })
        // A database that is opened makes room for another log.
        try await databases.use(Self.address(0)) { _ in }
        try await databases.use(Self.address(1)) { _ in }
        #expect(placement.closings.suffix(2).map(\.keepsLog) == [true, true])
        try await databases.close()
    }

    /// A damaged database may be closed to make room for another one. It must not leave a log, since the next opening
    /// may find another file.
    @Test func damagedDatabaseLeavesNoLog() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        try await databases.use(Self.address(1)) { _ in }
        databases.state.withLock { $0.entries[Self.address(1)]?.isClosing = true }
        try await databases.use(Self.address(2)) { _ in }
        try await databases.use(Self.address(3)) { _ in }
        #expect(placement.closings.map(\.path) == ["1", "2"].map { "counted _\($0)" })
        #expect(placement.closings.map(\.keepsLog) == [false, true])
        try await databases.close()
    }

    /// An error that reports a damaged file makes the database close at the end of its last use, without its log.
    @Test func damagedDatabaseIsClosedAfterItsLastUse() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        let damage = StorageError.translating(
            DatabaseError(resultCode: .SQLITE_CORRUPT), path: "counted _1")
        /// Uses the database, and reports that it is damaged.
        @Sendable func use(_ meanwhile: () async -> Void) async {
            await #expect(throws: StorageError.self) {
                try await databases.use(Self.address(1)) { _ in
                    await meanwhile()
                    throw damage
                }
            }
        }
        await use {
            await use {}
            #expect(placement.closings.isEmpty)
        }
        #expect(placement.closings.map(\.keepsLog) == [false])
        #expect(databases.damagedCount == 1)
        await #expect(throws: StorageError.self) {
            try await databases.use(Self.address(1)) { _ in }
        }
        try await databases.close()
    }

    /// Commands that run next to the service keep no logs.
    @Test func commandKeepsNoLog() async throws {
        let placement = try CountedPlacement(isExclusive: false)
        let databases = Self.databases(placement)
        for number in 0..<3 { try await databases.use(Self.address(number)) { _ in } }
        #expect(placement.closings.map(\.keepsLog) == [false, false])
        try await databases.close()
    }

    /// Pages that another connection reads cannot be checkpointed, so such a log is not considered empty.
    @Test func logWithAReaderIsNotKept() async throws {
        try await withTemporaryFolder(isMade: true) { folder in
            for hasReader in [true, false] {
                let path = folder + "/\(hasReader).sqlite"
                let format = RecordFile.format(world: .live)
                let file = try SQLiteFile(
                    path: path, format: format, limits: StorageLimits(),
                    logger: Logger(label: "test"))
                var configuration = Configuration()
                configuration.allowsUnsafeTransactions = true
                let reader = try DatabaseQueue(path: path, configuration: configuration)
                if hasReader {
                    try reader.unsafeReentrantWrite { database in
                        try database.execute(sql: "BEGIN; SELECT * FROM zone")
                    }
                }
                let isKept = try file.closeKeepingLog()
                #expect(isKept == !hasReader)
                try reader.close()
            }
        }
    }
}

/// Databases that share one in memory, and record how they are closed. At most one may be open.
private final class CountedPlacement: Placement {
    struct Closing: Sendable {
        var path: String
        var keepsLog: Bool
    }

    private let inner: MemoryPlacement
    private let closed = Mutex<[Closing]>([])
    let isExclusive: Bool

    init(isExclusive: Bool = true) throws {
        inner = try MemoryPlacement(world: .seeded(1))
        self.isExclusive = isExclusive
    }

    var closings: [Closing] { closed.withLock { $0 } }

    func noteClosing(of path: String, keepsLog: Bool) {
        closed.withLock { $0.append(Closing(path: path, keepsLog: keepsLog)) }
    }

    var work: WorkThread { .caller }
    var openDatabases: Int? { 1 }
    var idleSeconds: Double? { nil }
    var directory: any OpenDatabase { inner.directory }
    var reserve: DiskReserve? { nil }

    func open(_ address: DatabaseAddress) throws -> any OpenDatabase {
        CountedDatabase(path: path(of: address), inner: inner.directory, placement: self)
    }

    func blobs(for address: DatabaseAddress) -> any BlobStore { inner.blobs(for: address) }
    func databases() -> [DatabaseAddress] { [] }
    func missingDatabases() -> [DatabaseAddress] { [] }
    func databasesWithBlobs() -> [DatabaseAddress] { [] }
    func deleteDatabases(of address: ContainerAddress) {}

    func path(of address: DatabaseAddress) -> String {
        guard case .private(let owner) = address.tenant else { return "counted" }
        return "counted " + owner
    }

    func unknownFiles() -> [String] { [] }
    func files(of address: DatabaseAddress) -> DamagedDatabases.Files { .init() }
    func release() {}
}

private final class CountedDatabase: OpenDatabase {
    let path: String
    let epoch = EpochPlace()
    private let inner: any OpenDatabase
    private let placement: CountedPlacement

    init(path: String, inner: any OpenDatabase, placement: CountedPlacement) {
        self.path = path
        self.inner = inner
        self.placement = placement
    }

    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await inner.read(length, body)
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await inner.write(body)
    }

    func close() { placement.noteClosing(of: path, keepsLog: false) }

    func closeKeepingLog() -> Bool {
        placement.noteClosing(of: path, keepsLog: true)
        return true
    }
}
