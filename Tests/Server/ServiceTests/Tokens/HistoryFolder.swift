import Foundation
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusTesting
import Synchronization

/// A data folder whose service is stopped and started, and whose database is copied and replaced by copies.
final class HistoryFolder: Sendable {
    /// A time of day that jumps relative to the uptime, as on a virtual machine that resumes with its memory.
    final class Clock: Sendable {
        private let milliseconds = Mutex<Int64>(1_750_000_000_000)

        func jump() { milliseconds.withLock { $0 += 120_000 } }

        func world(seed: UInt64) -> StratusRuntime.World {
            var world = StratusRuntime.World.seeded(seed)
            world.nowMilliseconds = { self.milliseconds.withLock { $0 } }
            world.uptimeSeconds = { 0 }
            return world
        }
    }

    private struct Opened {
        let storage: SQLiteStorageEngine
        let alice: Person
    }

    let clock = Clock()
    private let path: String
    private let access: SQLiteStorageEngine.Access
    private let world: StratusRuntime.World
    private let opened = Mutex<Opened?>(nil)

    init(_ path: String, access: SQLiteStorageEngine.Access = .alone, seed: UInt64) {
        self.path = path
        self.access = access
        world = clock.world(seed: seed)
    }

    /// Another process on the same folder.
    func beside() throws -> HistoryFolder {
        HistoryFolder(path, access: .beside, seed: world.randomNumber())
    }

    /// Alice, at the folder's service, which is started if necessary.
    func person() async throws -> Person { try await open().alice }

    func databaseVersion() async throws -> Int64 {
        let opened = try await open()
        return try await opened.storage.store(for: Self.address(of: opened.alice))
            .read { try $0.databaseVersion }
    }

    func begin() async throws {
        let opened = try await open()
        _ = try await opened.storage.store(for: Self.address(of: opened.alice))
            .write { try $0.beginEpoch() }
    }

    func close() async throws {
        let last = opened.withLock { opened in
            defer { opened = nil }
            return opened
        }
        await last?.alice.world.service.waitUntilIdle()
        try await last?.storage.close()
    }

    /// Makes the service close Alice's database to make room for others.
    func closeDatabase() async throws {
        let opened = try await open()
        await opened.alice.world.service.waitUntilIdle()
        _ = try await opened.storage.store(
            for: DatabaseAddress(opened.alice.world.address, .public))
    }

    func copy(to other: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: other)
    }

    /// Takes the files of Alice's database from another folder. Both are closed.
    func takeDatabase(of other: HistoryFolder) async throws {
        let (own, theirs) = (try await open(), try await other.open())
        let from = String(theirs.storage.path(of: Self.address(of: theirs.alice)).dropLast(7))
        let to = String(own.storage.path(of: Self.address(of: own.alice)).dropLast(7))
        let files = FileManager.default
        for name in try Self.files(of: to) { try files.removeItem(atPath: name) }
        for name in try Self.files(of: from) {
            try files.copyItem(atPath: name, toPath: to + name.dropFirst(from.count))
        }
    }

    /// The files of a database, including its mark: their paths without extensions.
    private static func files(of path: String) throws -> [String] {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return try FileManager.default.contentsOfDirectory(atPath: folder)
            .map { folder + "/" + $0 }
            .filter { $0.hasPrefix(path + ".") }
    }

    private static func address(of alice: Person) -> DatabaseAddress {
        DatabaseAddress(alice.world.address, .private(owner: alice.name))
    }

    private func open() async throws -> Opened {
        if let opened = opened.withLock({ $0 }) { return opened }
        var limits = StorageLimits()
        limits.openDatabases = 1
        let storage = try SQLiteStorageEngine(
            folder: path, access: access, limits: limits, world: world)
        let alice = try await World(storage).person("alice")
        let now = Opened(storage: storage, alice: alice)
        opened.withLock { $0 = now }
        return now
    }
}

/// Paths of folders that are removed with this object.
final class CopyNames: Sendable {
    private let count = Mutex(0)
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-histories-\(UUID().uuidString)")

    deinit {
        // Failing to remove a temporary folder must not fail the test.
        try? FileManager.default.removeItem(at: folder)
    }

    func next() throws -> String {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let number = count.withLock { count in
            count += 1
            return count
        }
        return folder.appendingPathComponent("\(number)").path
    }
}
