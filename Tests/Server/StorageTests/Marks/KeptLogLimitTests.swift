import Foundation
import GRDB
import Logging
import StratusRecords
import StratusRuntime
import StratusTesting
import Synchronization
import Testing

@testable import StratusStorage

/// Which databases leave their logs when they are closed for want of room, and which do not.
@Suite struct KeptLogLimitTests {
    private static func address(_ number: Int) -> DatabaseAddress {
        DatabaseAddress(
            ContainerAddress(container: "iCloud.org.example.Trails", environment: .production),
            .private(owner: "_\(number)"))
    }

    private static func databases(_ placement: CountedPlacement) -> OpenDatabases {
        OpenDatabases(placement, world: .seeded(1), logger: Logger(label: "test"))
    }

    /// Their indexes are 32 kB each: from the 2,000th on a database is closed as SQLite does it.
    @Test func noMoreThanTwoThousandLogsAreKept() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        for number in 0..<2_010 { try await databases.use(Self.address(number)) { _ in } }
        #expect(placement.closings.count { $0.keepsLog } == 2_000)
        #expect(placement.closings.suffix(9).allSatisfy { !$0.keepsLog })
        // Whoever is opened makes room for the next.
        try await databases.use(Self.address(0)) { _ in }
        try await databases.use(Self.address(1)) { _ in }
        #expect(placement.closings.suffix(2).map(\.keepsLog) == [true, true])
        try await databases.close()
    }

    /// Between the last use of a damaged database and its closing another one may need its room. Nothing of it is left
    /// for the next opening, which finds another file perhaps.
    @Test func condemnedDatabaseLeavesNoLog() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        try await databases.use(Self.address(1)) { _ in }
        databases.state.withLock { $0.entries[Self.address(1)]?.isCondemned = true }
        try await databases.use(Self.address(2)) { _ in }
        try await databases.use(Self.address(3)) { _ in }
        #expect(placement.closings.map(\.path) == ["1", "2"].map { "counted _\($0)" })
        #expect(placement.closings.map(\.keepsLog) == [false, true])
        try await databases.close()
    }

    /// An error that says that the file is damaged has the database closed at the end of its last use, without its log.
    @Test func damagedDatabaseIsClosedAfterItsLastUse() async throws {
        let placement = try CountedPlacement()
        let databases = Self.databases(placement)
        let damage = StorageError.translating(
            DatabaseError(resultCode: .SQLITE_CORRUPT), path: "counted _1")
        /// Uses it, and finds it damaged.
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

    /// Commands beside the service leave nothing.
    @Test func commandKeepsNoLog() async throws {
        let placement = try CountedPlacement(isExclusive: false)
        let databases = Self.databases(placement)
        for number in 0..<3 { try await databases.use(Self.address(number)) { _ in } }
        #expect(placement.closings.map(\.keepsLog) == [false, false])
        try await databases.close()
    }

    /// What somebody else reads cannot be moved into the file; such a log is not said to be empty.
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

/// Databases that are one in memory, and tell how they are closed: one of them may be open.
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

    func strangers() -> [String] { [] }
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
