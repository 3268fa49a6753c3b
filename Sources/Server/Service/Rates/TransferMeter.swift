import Logging
import StratusRecords
import StratusRuntime
import Synchronization

/// The bytes that each container's clients sent and received today (UTC). Kept in memory: a restart starts the day at
/// 0. The log gets a line when four fifths of a day's limit are used, and one when all of it is.
final class TransferMeter: Sendable {
    private struct Day: Sendable {
        var number: Int64
        var bytes: Int
    }

    private static let dayMilliseconds: Int64 = 24 * 3600 * 1000

    private static let warnings = [0.8, 1]

    private let logger: Logger
    private let days = Mutex(LRUCache<ContainerAddress, Day>(capacity: 10_000))

    init(logger: Logger) {
        self.logger = logger
    }

    /// Bytes of a container today.
    func bytes(of container: ContainerAddress, at milliseconds: Int64) -> Int {
        let day = days.withLock { $0[container] }
        return day?.number == milliseconds / Self.dayMilliseconds ? day?.bytes ?? 0 : 0
    }

    /// - Parameter limitBytes: The bytes that a container may transfer in a day; 0 is no limit.
    func add(
        _ bytes: Int, to container: ContainerAddress, limitBytes: Int, at milliseconds: Int64
    ) {
        let today = milliseconds / Self.dayMilliseconds
        let total = days.withLock { days in
            var day = days[container] ?? Day(number: today, bytes: 0)
            if day.number != today { day = Day(number: today, bytes: 0) }
            day.bytes += bytes
            days[container] = day
            return day.bytes
        }
        guard limitBytes > 0 else { return }
        for share in Self.warnings {
            let mark = Int(share * Double(limitBytes))
            guard total >= mark, total - bytes < mark else { continue }
            logger.warning(
                """
                The clients of a container have used up much of its bytes per day; raise the limit \
                transferBytesPerDay if that is expected.
                """,
                metadata: [
                    "container": "\(container.container)", "share": "\(share)",
                    "bytes": "\(total)",
                ])
        }
    }

    /// - Throws: ``ServiceError`` THROTTLED until midnight when the container's limit is reached.
    func check(
        _ container: ContainerAddress, limitBytes: Int, at milliseconds: Int64
    ) throws(ServiceError) {
        let today = milliseconds / Self.dayMilliseconds
        let day = days.withLock { $0[container] }
        guard limitBytes > 0, let day, day.number == today, day.bytes >= limitBytes else { return }
        let left = (today + 1) * Self.dayMilliseconds - milliseconds
        throw .throttled(afterSeconds: Double(left) / 1_000)
    }
}
