import CoreMetrics
import Synchronization

/// Keeps the values of swift-metrics, and writes them in Prometheus's text format 0.0.4.
package final class PrometheusMetrics: MetricsFactory {
    private struct State {
        var counters: [MetricSeries: MetricCounter] = [:]
        var gauges: [MetricSeries: MetricGauge] = [:]
        var histograms: [MetricSeries: MetricHistogram] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func makeCounter(
        label: String, dimensions: [(String, String)]
    ) -> any CounterHandler {
        counter(MetricSeries(label, dimensions))
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let series = MetricSeries(label, dimensions)
        return aggregate ? histogram(series) : gauge(series)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(MetricSeries(label, dimensions))
    }

    func counter(_ series: MetricSeries) -> MetricCounter {
        state.withLock { state in
            let counter = state.counters[series] ?? MetricCounter()
            state.counters[series] = counter
            return counter
        }
    }

    func gauge(_ series: MetricSeries) -> MetricGauge {
        state.withLock { state in
            let gauge = state.gauges[series] ?? MetricGauge()
            state.gauges[series] = gauge
            return gauge
        }
    }

    func histogram(_ series: MetricSeries) -> MetricHistogram {
        state.withLock { state in
            let histogram = state.histograms[series] ?? MetricHistogram()
            state.histograms[series] = histogram
            return histogram
        }
    }

    // Series stay, since a count remains true.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// All series, one per line, in the order of names.
    package func text() -> String {
        let (counters, gauges, histograms) = state.withLock {
            ($0.counters, $0.gauges, $0.histograms)
        }
        var text = ""
        Self.write(counters, as: "counter", to: &text) { series, counter, text in
            text += "\(series.text()) \(counter.value)\n"
        }
        Self.write(gauges, as: "gauge", to: &text) { series, gauge, text in
            text += "\(series.text()) \(gauge.value)\n"
        }
        Self.write(histograms, as: "histogram", to: &text) { series, histogram, text in
            let value = histogram.value
            var count: UInt64 = 0
            for (bound, inBucket) in zip(MetricHistogram.bounds, value.buckets) {
                count += inBucket
                text += "\(series.text("_bucket", ("le", "\(bound)"))) \(count)\n"
            }
            text += "\(series.text("_bucket", ("le", "+Inf"))) \(value.count)\n"
            text += "\(series.text("_sum")) \(value.sum)\n"
            text += "\(series.text("_count")) \(value.count)\n"
        }
        return text
    }

    private static func write<Value>(
        _ all: [MetricSeries: Value], as type: String, to text: inout String,
        _ write: (MetricSeries, Value, inout String) -> Void
    ) {
        var name = ""
        for (series, value) in all.sorted(by: { $0.key < $1.key }) {
            if series.name != name {
                name = series.name
                text += "# TYPE \(name) \(type)\n"
            }
            write(series, value, &text)
        }
    }
}
