import Foundation

/// The clock as an argument, so that tests own it.
public struct SyncClock: Sendable {
    /// The time of day, in milliseconds since 1970; stamps local edits.
    public var wallMilliseconds: @Sendable () -> Int64
    /// Seconds of a clock that never goes back; paces operations.
    public var uptimeSeconds: @Sendable () -> Double
    /// Waits for a number of seconds; throws when the task is cancelled.
    public var sleep: @Sendable (_ seconds: Double) async throws -> Void

    public init(
        wallMilliseconds: @escaping @Sendable () -> Int64 = {
            Int64((Date().timeIntervalSince1970 * 1_000).rounded())
        },
        uptimeSeconds: @escaping @Sendable () -> Double = { ProcessInfo.processInfo.systemUptime },
        sleep: @escaping @Sendable (Double) async throws -> Void = {
            try await Task.sleep(for: .seconds($0))
        }
    ) {
        self.wallMilliseconds = wallMilliseconds
        self.uptimeSeconds = uptimeSeconds
        self.sleep = sleep
    }
}
