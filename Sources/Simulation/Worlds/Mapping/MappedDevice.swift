import Foundation
import StratusCache
import StratusClient
import StratusMapping
import StratusRuntime
import StratusSync

/// A device in a world of mapped objects: its store, the mapping of the current process, and the cache below.
///
/// Only the script's task touches it.
final class MappedDevice {
    static let types: [any CloudEntity.Type] = [
        MappedHut.self, MappedValley.self, MappedTrail.self, MappedSign.self,
    ]

    let below: SimulatedDevice
    /// The current process's: a copy of the previous process's file, into which that may still write.
    private var file: URL
    private(set) var store: MappedStore
    private var process: (cache: CloudCache, mapping: CloudMapping)?

    var name: String { below.name }

    init(_ below: SimulatedDevice) {
        self.below = below
        store = MappedStore(below.world)
        file = Self.newFile()
    }

    private static func newFile() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent(
            "stratus-mapped-\(World.live.makeUUID().uuidString)")
    }

    private func takeFile() throws {
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        let copy = Self.newFile()
        try FileManager.default.copyItem(at: file, to: copy)
        try FileManager.default.removeItem(at: file)
        file = copy
    }

    /// The mapping of the current process.
    func opened() throws -> CloudMapping {
        let cache = try below.opened()
        if let process, process.cache === cache { return process.mapping }
        store = store.reread()
        try takeFile()
        let mapping = try CloudMapping.$isForAllTasks.withValue(false) {
            try CloudMapping(
                cache: cache, types: Self.types, store: store, file: file, world: below.world)
        }
        process = (cache, mapping)
        return mapping
    }

    func kill() throws {
        try below.kill()
        process = nil
    }

    /// Starts work of the app without awaiting it.
    func start(_ name: String, _ body: @escaping @Sendable (CloudMapping) async throws -> Void)
        throws
    {
        let mapping = try opened()
        _ = below.world.startTask(name) {
            // A failure now is retried at the end, when there are no more faults.
            try? await body(mapping)
        }
    }

    deinit {
        // A file that was never created need not be removed.
        try? FileManager.default.removeItem(at: file)
    }
}
