import Synchronization

/// The progress of a transfer, which is watched for pauses that are too long.
package final class TransferProgress: Sendable {
    private let pieces = Atomic<Int>(0)

    package init() {}

    /// Notes that a piece arrived.
    package func advance() {
        pieces.add(1, ordering: .relaxed)
    }

    /// Runs a transfer as long as it calls ``advance()`` often enough.
    ///
    /// - Parameters:
    ///   - idleSeconds: how long it may pause. A pause is noticed after at most twice that time.
    ///   - totalSeconds: how long it may take in total.
    ///   - tooSlow: the error when it paused or took too long.
    /// - Throws: what the transfer throws, `tooSlow`, or `CancellationError`.
    package func watch<Value: Sendable>(
        idleSeconds: Double, totalSeconds: Double = .infinity, in world: World,
        throwing tooSlow: @autoclosure @escaping @Sendable () -> any Error,
        _ transfer: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await World.run(transfer) {
            var secondsLeft = totalSeconds
            while secondsLeft > 0 {
                let before = self.pieces.load(ordering: .relaxed)
                let seconds = min(idleSeconds, secondsLeft)
                try await world.timeout(seconds)
                if self.pieces.load(ordering: .relaxed) == before { break }
                secondsLeft -= seconds
            }
            return tooSlow()
        }
    }
}
