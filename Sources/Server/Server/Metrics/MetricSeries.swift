import CoreMetrics
import Synchronization

/// The name of a metric, and the labels that distinguish its series.
struct MetricSeries: Hashable, Comparable, Sendable {
    let name: String
    private let labels: String

    init(_ name: String, _ labels: [(String, String)] = []) {
        self.name = Self.name(name)
        self.labels = labels.map(Self.label).joined(separator: ",")
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.name, left.labels) < (right.name, right.labels)
    }

    /// The beginning of a line of the text format.
    func text(_ suffix: String = "", _ label: (String, String)? = nil) -> String {
        let own = label.map { [Self.label($0)] } ?? []
        let all = (labels.isEmpty ? [] : [labels]) + own
        return name + suffix + (all.isEmpty ? "" : "{\(all.joined(separator: ","))}")
    }

    /// The text with only letters, digits and underscores, as the format requires of names.
    private static func name(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func label(_ label: (String, String)) -> String {
        let value = label.1.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
        return "\(name(label.0))=\"\(value)\""
    }
}

final class MetricCounter: CounterHandler, Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) {
        count.add(amount, ordering: .relaxed)
    }

    func reset() {
        count.store(0, ordering: .relaxed)
    }
}

final class MetricGauge: RecorderHandler, Sendable {
    private let current = Mutex(0.0)

    var value: Double { current.withLock { $0 } }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        current.withLock { $0 = value }
    }
}

/// The distribution of durations or sizes.
final class MetricHistogram: TimerHandler, RecorderHandler, Sendable {
    struct Value {
        var buckets = [UInt64](repeating: 0, count: bounds.count)
        var sum = 0.0
        var count: UInt64 = 0
    }

    /// Upper bounds of the buckets in seconds, each inclusive.
    static let bounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
    ]

    private let current = Mutex(Value())

    var value: Value { current.withLock { $0 } }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        current.withLock { current in
            if let bucket = Self.bounds.firstIndex(where: { value <= $0 }) {
                current.buckets[bucket] += 1
            }
            current.sum += value
            current.count += 1
        }
    }
}
