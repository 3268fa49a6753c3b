import Foundation
import StratusRecords
import StratusService
import StratusStorage
import TestServing
import Testing

@testable import StratusServer

/// What `/metrics` reports, and which clients may read it.
@Suite struct MetricsTests {
    @Test func seriesAreWrittenAsPrometheusReadsThem() {
        let metrics = PrometheusMetrics()
        metrics.makeCounter(label: "a.total", dimensions: [("x", "1"), ("y", "a\"b\\c\n")])
            .increment(by: 3)
        metrics.makeCounter(label: "a.total", dimensions: [("x", "1"), ("y", "a\"b\\c\n")])
            .increment(by: 1)
        metrics.makeRecorder(label: "b", dimensions: [], aggregate: false).record(2.5)
        let timer = metrics.makeTimer(label: "c_seconds", dimensions: [("route", "/r")])
        timer.recordNanoseconds(2_000_000)
        timer.recordNanoseconds(90_000_000_000)
        let lines = metrics.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "# TYPE a_total counter")
        #expect(lines.contains(#"a_total{x="1",y="a\"b\\c\n"} 4"#))
        #expect(lines.contains("# TYPE b gauge") && lines.contains("b 2.5"))
        #expect(lines.contains(#"c_seconds_bucket{route="/r",le="0.001"} 0"#))
        #expect(lines.contains(#"c_seconds_bucket{route="/r",le="0.0025"} 1"#))
        #expect(lines.contains(#"c_seconds_bucket{route="/r",le="60.0"} 1"#))
        #expect(lines.contains(#"c_seconds_bucket{route="/r",le="+Inf"} 2"#))
        #expect(lines.contains(#"c_seconds_count{route="/r"} 2"#))
    }

    private func service(isForDevelopment: Bool) -> CloudService {
        CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: isForDevelopment))
    }

    @Test func requestsAreCountedByRouteAndStatus() async throws {
        let service = self.service(isForDevelopment: true)
        try await withServer(service, metrics: PrometheusMetrics()) { port in
            let connection = try BareConnection(port)
            let path = "/database/1/iCloud.org.example.Secret/development/public/records/query"
            for _ in 0..<3 { _ = try await connection.ask(post(path + "?ckAPIToken=wrong", "{}")) }
            let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
            let text = try await connection.ask(get + "\r\n")
            #expect(text.hasPrefix("HTTP/1.1 200"))
            let route = "/database/1/{container}/{environment}/{database}/records/query"
            #expect(
                text.contains(
                    #"stratus_requests_total{route="\#(route)",method="POST",status="401"} 3"#),
                "\(text)")
            #expect(text.contains(#"stratus_errors_total{code="AUTHENTICATION_FAILED"} 3"#))
            #expect(text.contains("stratus_memory_held_bytes "))
            #expect(text.contains("stratus_databases_damaged 0.0"))
            // Neither the container's name nor a client's input is reported.
            #expect(!text.contains("Secret") && !text.contains("wrong"))
            // A request through a proxy is not a local one.
            let far = try await connection.ask(get + "X-Forwarded-For: 10.0.0.1\r\n\r\n")
            #expect(far.hasPrefix("HTTP/1.1 403"))
        }
    }

    /// A page of any site can have a browser on this machine ask for the metrics; it must not read the answer.
    @Test func pagesOfOtherOriginsCannotReadMetrics() async throws {
        let service = self.service(isForDevelopment: false)
        try await withServer(service, metrics: PrometheusMetrics()) { port in
            let connection = try BareConnection(port)
            func answer(_ path: String) async throws -> String {
                try await connection.ask(
                    "GET \(path) HTTP/1.1\r\nHost: localhost\r\n"
                        + "Origin: https://other.example.org\r\n\r\n")
            }
            let header = "access-control-allow-origin"
            #expect(try await answer("/health").lowercased().contains(header))
            // The router ignores empty segments.
            for path in ["/metrics", "//metrics", "/metrics/"] {
                let metrics = try await answer(path)
                #expect(metrics.hasPrefix("HTTP/1.1 200"))
                #expect(!metrics.lowercased().contains(header), "\(path): \(metrics)")
            }
        }
    }

    @Test func metricsRequireTheirToken() async throws {
        let service = self.service(isForDevelopment: false)
        try await withServer(
            service, publicOrigin: "https://cloud.example.org", metrics: PrometheusMetrics(),
            metricsToken: "0123456789abcdef"
        ) { port in
            let connection = try BareConnection(port)
            func status(_ headers: String) async throws -> String {
                let answer = try await connection.ask(
                    "GET /metrics HTTP/1.1\r\nHost: cloud.example.org\r\n\(headers)\r\n")
                return String(answer.dropFirst(9).prefix(3))
            }
            #expect(try await status("") == "403")
            #expect(try await status("Authorization: Bearer 0123456789abcdee\r\n") == "403")
            #expect(try await status("Authorization: Bearer 0123456789abcdef\r\n") == "200")
        }
    }
}
