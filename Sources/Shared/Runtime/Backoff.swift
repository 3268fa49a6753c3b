/// The pauses between repeated attempts: each twice as long as the one before, up to a maximum.
///
/// ```swift
/// var backoff = Backoff(firstSeconds: 1, longestSeconds: 60)
/// print(backoff.nextSeconds())              // 1
/// print(backoff.nextSeconds())              // 2
/// print(backoff.nextSeconds(random: 0.5))   // 3: three quarters of 4
/// backoff.reset()
/// ```
package struct Backoff: Hashable, Sendable {
    private let firstSeconds: Double
    private let longestSeconds: Double
    private var pauseSeconds: Double

    package init(firstSeconds: Double, longestSeconds: Double) {
        self.firstSeconds = firstSeconds
        self.longestSeconds = longestSeconds
        pauseSeconds = min(firstSeconds, longestSeconds)
    }

    /// The pause before the next attempt, in seconds.
    ///
    /// - Parameter random: a number from 0 up to 1 that shortens the pause by up to a half, so that
    ///   many devices do not retry at the same time; nil takes the whole pause.
    package mutating func nextSeconds(random: Double? = nil) -> Double {
        let seconds = pauseSeconds
        pauseSeconds = min(2 * pauseSeconds, longestSeconds)
        return random.map { seconds * (0.5 + $0 / 2) } ?? seconds
    }

    /// Starts again after a success.
    package mutating func reset() {
        pauseSeconds = min(firstSeconds, longestSeconds)
    }
}
