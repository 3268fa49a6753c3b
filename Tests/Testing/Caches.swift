import Foundation
import StratusCache
import StratusClient
import StratusTesting

extension TestCloud {
    /// The caches of Alice's phone and tablet, in a seeded world.
    ///
    /// - Parameter folder: the folder of their assets' files, with a subfolder for each device.
    func caches(
        in world: SeededWorld, scopes: Set<CKDatabase.Scope> = [.private, .shared],
        assetsIn folder: URL? = nil
    ) async throws -> [CloudCache] {
        var caches: [CloudCache] = []
        for device in ["phone", "tablet"] {
            let clock = world.world(device)
            let container = CKContainer(
                identifier: "iCloud.org.example.Lists",
                connection: try await connect(user: "alice", device: device, world: clock))
            caches.append(
                try CloudCache(
                    memory: MemoryCacheFile(
                        assetFolder: folder?.appendingPathComponent(device)),
                    container: container, scopes: scopes, world: clock))
        }
        return caches
    }
}
