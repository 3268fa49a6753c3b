import Foundation
import Testing

@testable import StratusCache

/// The files that a process watches for commits of other processes.
@Suite(.timeLimit(.minutes(20))) struct CacheWatchTests {
    /// Both watch the same file, of which the kernel has one watch.
    @Test func watchBegunWhileAnotherOfTheFileEndsIsNotified() async throws {
        let path = NSTemporaryDirectory() + "watch-\(UUID().uuidString)"
        let file = URL(fileURLWithPath: path)
        try Data().write(to: file)
        defer { unlink(path) }
        for _ in 0..<2_000 {
            let earlier = CacheWatches.shared.watch(path) {}
            let (calls, called) = AsyncStream.makeStream(of: Void.self)
            async let ending: Void = CacheWatches.shared.end(earlier)
            let key = CacheWatches.shared.watch(path) { called.yield() }
            await ending
            try Data("written".utf8).write(to: file)
            for await _ in calls { break }
            CacheWatches.shared.end(key)
        }
    }
}
