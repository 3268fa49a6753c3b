import Dispatch
import StratusRecords
import StratusStorage
import Testing

@testable import StratusService
@testable import StratusStorage

/// The service checks for a command's changes of the directory in the background of requests.
@Suite struct DirectoryWatchTests {
    /// A sign-in or a new share writes to the directory and waits for the disk; other requests do not wait for that,
    /// even if the check is due.
    @Test(.timeLimit(.minutes(20))) func requestsDoNotWaitForDirectoryWrites() async throws {
        let storage = try Backend.sqlite.storage()
        let world = World(storage)
        let watch = world.service.pipeline.watch
        let alice = try await world.person("alice", with: "Trips")
        // The check is due after 0.6 seconds.
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
