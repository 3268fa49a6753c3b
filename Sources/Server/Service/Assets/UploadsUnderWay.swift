import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// What users upload now, and what they have uploaded that no record has yet.
struct UserUploads: Sendable {
    let underWay: UploadsUnderWay
    let unclaimed = UnclaimedUploads()
}

/// Counts the running uploads of each user: each has a file that no quota counts yet.
final class UploadsUnderWay: Sendable {
    private let limit: Int
    private let counts = Mutex<[String: Int]>([:])
    /// The resumable uploads that are being written to.
    private let partials = Mutex<Set<PartialBlobName>>([])

    init(limit: Int) {
        self.limit = limit
    }

    /// Runs `body` as one of the user's uploads.
    ///
    /// - Throws: ``RequestFailure`` with THROTTLED when there are too many.
    func run<Outcome>(for user: String, _ body: () async throws -> Outcome) async throws -> Outcome
    {
        let isIn = counts.withLock { counts in
            guard counts[user, default: 0] < limit else { return false }
            counts[user, default: 0] += 1
            return true
        }
        guard isIn else {
            throw RequestFailure(.tooManyUploads(limit: limit), unreadBody: .refused)
        }
        defer {
            counts.withLock { counts in
                let left = (counts[user] ?? 1) - 1
                counts[user] = left == 0 ? nil : left
            }
        }
        return try await body()
    }

    /// Runs `body` as the only one that writes to a partial blob.
    ///
    /// - Throws: ``RequestFailure`` with TRY_AGAIN_LATER when another request is writing to it.
    func run<Outcome>(
        _ name: PartialBlobName, _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        guard partials.withLock({ $0.insert(name).inserted }) else {
            throw RequestFailure(.uploadIsUnderWay, unreadBody: .refused)
        }
        defer { partials.withLock { _ = $0.remove(name) } }
        return try await body()
    }
}
