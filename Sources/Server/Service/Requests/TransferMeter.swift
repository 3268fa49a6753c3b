import StratusRecords
import StratusRuntime
import Synchronization

/// What the clients of each container sent and received today (UTC). Kept in memory: a restart begins
/// the day anew.
final class TransferMeter: Sendable {
    private struct Day: Sendable {
        var number: Int64
        var bytes: Int
    }

    private static let dayMilliseconds: Int64 = 24 * 3600 * 1000

    private let days = Mutex(LRUCache<ContainerAddress, Day>(capacity: 10_000))

    func add(_ bytes: Int, to container: ContainerAddress, at milliseconds: Int64) {
        let today = milliseconds / Self.dayMilliseconds
        days.withLock { days in
            var day = days[container] ?? Day(number: today, bytes: 0)
            if day.number != today { day = Day(number: today, bytes: 0) }
            day.bytes += bytes
            days[container] = day
        }
    }

    /// - Throws: ``ServiceError`` THROTTLED until midnight when the container's clients had their share.
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
