import Foundation
import Synchronization

/// Lets commits of databases go before the writing of blobs.
///
/// A commit waits several times for the disk, each time behind whatever the disk was given before. So a blob is
/// written in small pieces, and none begins while a commit is under way.
enum CommitTurn {
    private static let commitsUnderWay = Atomic(0)
    private static let pauseMicroseconds: UInt32 = 100
    /// Two milliseconds for a piece: uploads go on, more slowly, beside commits without end.
    private static let pausesPerPiece = 20

    static func commit(_ body: () throws -> Void) rethrows {
        commitsUnderWay.wrappingAdd(1, ordering: .relaxed)
        defer { commitsUnderWay.wrappingSubtract(1, ordering: .relaxed) }
        try body()
    }

    /// Blocks until no commit is under way, 2 ms at most.
    static func waitForCommits() {
        var pauses = 0
        while pauses < pausesPerPiece, commitsUnderWay.load(ordering: .relaxed) > 0 {
            usleep(pauseMicroseconds)
            pauses += 1
        }
    }
}
