import Foundation
import StratusCache
import StratusClient
import StratusMapping
import StratusRuntime
import StratusSync

/// A device in a world of mapped objects: its store, the mapping of the process of now, and the cache below.
///
/// Only the script's task touches it.
final class MappedDevice {
    static let types: [any CloudEntity.Type] = [
        MappedHut.self, MappedValley.self, MappedTrail.self, MappedSign.self,
    ]

    let below: SimulatedDevice
    /// Of the process of now: a copy of the one of before, which may still write into its own.
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

    /// The mapping of the process of now.
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

    /// Starts work of the app that nobody awaits.
    func start(_ name: String, _ body: @escaping @Sendable (CloudMapping) async throws -> Void)
        throws
    {
        let mapping = try opened()
        _ = below.world.startTask(name) {
            // What fails now is tried again at the end, when nothing goes wrong any more.
            try? await body(mapping)
        }
    }

    deinit {
        // A file that was never made need not go.
        try? FileManager.default.removeItem(at: file)
    }
}
