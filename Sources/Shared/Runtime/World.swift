#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a run depends on besides its input: time, randomness, and where its tasks start.
///
/// The service, the client, sync and the cache take one `World` as an argument and use no other source, so a test can
/// control all of it and repeat a run exactly.
///
/// ```swift
/// var world = World.live
/// world.nowMilliseconds = { 1_704_067_200_000 }
/// let id = world.makeUUID()
/// ```
public struct World: Sendable {
    /// The time of day, in milliseconds since 1970. It may jump when the clock is set.
    public var nowMilliseconds: @Sendable () -> Int64

    /// Seconds of a clock that never goes back. Only differences are meaningful.
    public var uptimeSeconds: @Sendable () -> Double

    /// Waits for a number of seconds; throws `CancellationError` when the task is cancelled.
    public var sleep: @Sendable (_ seconds: Double) async throws -> Void

    /// Waits until the time limit of a request or a transfer is over; throws `CancellationError` when the task is
    /// cancelled.
    ///
    /// Separate from ``sleep``, so that a test whose pauses take no time still gives requests all the time that they
    /// need.
    public var timeout: @Sendable (_ seconds: Double) async throws -> Void

    /// Returns this many random bytes, suitable for keys and identifiers.
    public var randomBytes: @Sendable (_ count: Int) -> [UInt8]

    /// Starts work that is not awaited where it starts.
    ///
    /// A simulation runs it on an executor of its own; the name identifies such tasks.
    public var startTask: StartTask

    /// Runs work that blocks on the disk, in the order of the calls. Nil runs it on threads of its own, so that no
    /// thread of Swift's pool blocks.
    ///
    /// A simulation runs it where its tasks run, and gets the same order each time.
    public var runOnDisk: RunOnDisk?

    /// Starts a piece of work and returns.
    public typealias RunOnDisk = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    /// Starts `work` under a name, and returns its task.
    public typealias StartTask =
        @Sendable (_ name: String, _ work: @escaping @Sendable () async -> Void)
        -> Task<Void, Never>

    /// Makes a world; each source that is left out is that of ``live``.
    public init(
        nowMilliseconds: @escaping @Sendable () -> Int64 = Self.live.nowMilliseconds,
        uptimeSeconds: @escaping @Sendable () -> Double = Self.live.uptimeSeconds,
        sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void = Self.live.sleep,
        timeout: @escaping @Sendable (_ seconds: Double) async throws -> Void = Self.live.timeout,
        randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8] = Self.live.randomBytes,
        startTask: @escaping StartTask = Self.live.startTask, runOnDisk: RunOnDisk? = nil
    ) {
        self.nowMilliseconds = nowMilliseconds
        self.uptimeSeconds = uptimeSeconds
        self.sleep = sleep
        self.timeout = timeout
        self.randomBytes = randomBytes
        self.startTask = startTask
        self.runOnDisk = runOnDisk
    }

    /// The clocks, the random source and the tasks of the process.
    public static let live = World(
        nowMilliseconds: { Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)) },
        uptimeSeconds: { ProcessInfo.processInfo.systemUptime },
        sleep: { try await Task.sleep(for: duration(ofSeconds: $0)) },
        timeout: { try await Task.sleep(for: duration(ofSeconds: $0)) },
        randomBytes: { count in
            var generator = SystemRandomNumberGenerator()
            var word: UInt64 = 0
            return (0..<count).map { index in
                // Each call of the generator is a system call, and returns eight bytes.
                if index % 8 == 0 { word = generator.next() }
                defer { word >>= 8 }
                return UInt8(truncatingIfNeeded: word)
            }
        },
        startTask: { name, work in Task(name: name) { await work() } })

    /// A duration of this many seconds; a number that is out of range becomes the nearest that is not.
    ///
    /// `Duration.seconds` ends the process for a number that is not finite or too large.
    package static func duration(ofSeconds seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : max(0, min(seconds, 1e9)))
    }
}

extension World {
    /// The time of day as a date, to the millisecond.
    public var now: Date { Date(timeIntervalSince1970: Double(nowMilliseconds()) / 1_000) }

    /// ``uptimeSeconds`` in milliseconds.
    package var uptimeMilliseconds: Int64 { Int64(uptimeSeconds() * 1_000) }

    /// A random number from 0 up to, but not including, 1.
    public func random() -> Double {
        Double(randomNumber() >> 11) * 0x1p-53
    }

    /// Eight random bytes as a number.
    package func randomNumber() -> UInt64 {
        randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A random UUID (version 4, RFC 9562).
    public func makeUUID() -> UUID {
        var bytes = randomBytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return UUID(bytes: bytes)
    }

    /// Runs work until its time is over, even if the work itself ignores time.
    ///
    /// Work that is too late is cancelled and awaited.
    ///
    /// - Parameters:
    ///   - seconds: how long the work may take; zero or less gives it no time.
    ///   - tooLate: the error when the time is over.
    /// - Throws: what the work throws, `tooLate`, or `CancellationError`.
    @inlinable
    package func withTimeout<Value: Sendable>(
        seconds: Double, throwing tooLate: @autoclosure @escaping @Sendable () -> any Error,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard seconds > 0 else { throw tooLate() }
        return try await World.run(work) {
            try await timeout(seconds)
            return tooLate()
        }
    }

    /// Runs work until a limit is reached: then the work is cancelled and awaited.
    ///
    /// - Parameter limit: returns the error to throw when the limit is reached.
    @inlinable
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value,
        until limit: @escaping @Sendable () async throws -> any Error
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await work() }
            group.addTask {
                let error = try await limit()
                throw error
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}

extension UUID {
    /// The UUID with these 16 bytes, of any version.
    package init(bytes: [UInt8]) {
        precondition(
            bytes.count == MemoryLayout<uuid_t>.size,
            "There are \(bytes.count) bytes for a UUID, which has 16.")
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
