import Foundation
import StratusCache
import StratusClient
import StratusRuntime
import StratusSync

/// The cache's file of a user on a device.
enum UserFile {
    case memory(MemoryCacheFile)
    case disk(SimulatedDisk)

    private static func path(on disk: SimulatedDisk) -> String { disk.path + "/cache.sqlite" }

    /// The folder of the assets of a file on a disk, whose name the cache derives from the file's; nil in memory.
    var assetFolder: URL? {
        switch self {
        case .memory: nil
        case .disk(let disk): URL(fileURLWithPath: Self.path(on: disk) + "-assets")
        }
    }

    func opened(
        _ container: CKContainer, _ settings: SyncSettings, _ resolver: (any ConflictResolver)?,
        _ versions: RecordVersions, _ types: [CachedType]?, _ world: World
    ) throws -> CloudCache {
        switch self {
        case .memory(let file):
            try CloudCache(
                memory: file, container: container, settings: settings, resolver: resolver,
                versions: versions, types: types, world: world)
        case .disk(let disk):
            try CloudCache(
                path: Self.path(on: disk), container: container, settings: settings,
                resolver: resolver, versions: versions, types: types, world: world)
        }
    }

    /// A flag of a database; nil if it is not set.
    func flag(_ name: String, ofDatabase scope: Int) throws -> String? {
        switch self {
        case .memory(let file): try file.flag(name, ofDatabase: scope)
        case .disk(let disk):
            try StoredCacheFile.flag(name, ofDatabase: scope, inFileAt: Self.path(on: disk))
        }
    }

    /// The number of writes that began; nil for a file on a disk, which does not count them.
    var writeCount: Int? {
        switch self {
        case .memory(let file): file.writeCount
        case .disk: nil
        }
    }

    /// Whether a zone with records was fetched.
    func isKnown(zone name: String, ofDatabase scope: Int) throws -> Bool {
        switch self {
        case .memory(let file): try file.isKnown(zone: name, ofDatabase: scope)
        case .disk(let disk):
            try StoredCacheFile.isKnown(
                zone: name, ofDatabase: scope, inFileAt: Self.path(on: disk))
        }
    }

    func rowCounts() throws -> [String: Int] {
        switch self {
        case .memory(let file): try file.rowCounts()
        case .disk(let disk): try StoredCacheFile.rowCounts(inFileAt: Self.path(on: disk))
        }
    }

    /// Changes the file without the cache's knowledge. A file on a disk that no cache has created is not changed.
    func execute(_ sql: String) throws {
        switch self {
        case .memory(let file): try file.execute(sql)
        case .disk(let disk):
            guard FileManager.default.fileExists(atPath: Self.path(on: disk)) else { return }
            try StoredCacheFile.execute(sql, inFileAt: Self.path(on: disk))
        }
    }

    func endTrouble() {
        switch self {
        case .memory(let file): file.setWriteFailure(nil)
        case .disk(let disk): disk.endTrouble()
        }
    }
}
