import Dispatch
import StratusRecords
import StratusStorage
import Testing

@testable import StratusService
@testable import StratusStorage

/// What a command changes in the directory is looked for beside the requests.
@Suite struct DirectoryWatchTests {
    /// Whoever signs in or shares writes into the directory and waits for the disk; nobody else does, once a second.
    @Test(.timeLimit(.minutes(20))) func requestWaitsForNoWriteOfOthers() async throws {
        let storage = try Backend.sqlite.storage()
        let world = World(storage)
        let watch = world.service.pipeline.watch
        let alice = try await world.person("alice", with: "Trips")
        // Each is due to be asked again, before a second is over.
        for _ in 0..<3 {
            world.advance(seconds: 0.6)
            _ = try await alice.lookup(["a"], in: "Trips")
            await watch.waitForRenewal()
        }
        let directory = try #require(storage.directory as? SQLiteDirectory)
        let end = DispatchSemaphore(value: 0)
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let write = Task {
            try await directory.database.write { _ in
                begin.finish()
                end.wait()
            }
        }
        for await _ in begins {}
        world.advance(seconds: 0.6)
        _ = try await alice.lookup(["a"], in: "Trips")
        end.signal()
        try await write.value
        await watch.waitForRenewal()
        try await storage.close()
    }
}
