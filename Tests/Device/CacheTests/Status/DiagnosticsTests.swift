import Foundation
import GRDB
import InMemoryTracing
import Instrumentation
import StratusClient
import StratusRecords
import StratusSync
import TestProcesses
import Testing

@testable import StratusCache

/// The report for support: the queue and the history, without values; and the inspection of a file from outside.
@Suite(.timeLimit(.minutes(20))) struct DiagnosticsTests {
    private func troubled() async throws -> (cloud: RealService, phone: Device) {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "a secret"])
        cloud.refuse("b", SyncFailure(.invalidArguments, message: "No."))
        try phone.save("b", "another secret")
        try await phone.sync()
        try phone.save("c", "a third secret")
        phone.link.fail(call: 0, .requestLost(SyncFailure(.networkUnavailable)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        return (cloud, phone)
    }

    @Test func reportHasQueueHistoryAndNoValues() async throws {
        let (cloud, phone) = try await troubled()
        let alice = try await cloud.userRecordName()
        try phone.restart()
        let report = try await phone.cache.diagnosticsReport()
        #expect(report.format == CacheFormat.format.newest && report.userRecordName == alice)
        #expect(report.queue.map(\.name) == ["b", "c"] && report.queueCount == 2)
        #expect(report.queue.first?.failure == "invalidArguments No.")
        #expect(report.queue.last?.fields.keys.contains("text") == true)
        #expect(report.reports == ["setAside": 1])
        #expect(report.zones.map(\.name) == ["List"] && report.zones.first?.recordCount == 3)
        let kinds = report.events.map(\.kind)
        #expect(kinds.contains("operation") && kinds.contains("failed"))
        let failed = try #require(report.events.last { $0.kind == "failed" })
        #expect(failed.level == "debug" && failed.details["code"] == "networkUnavailable")
        let json = String(decoding: try report.json(), as: UTF8.self)
        #expect(!json.contains("secret") && !report.text.contains("secret"))
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let read = try decoder.decode(DiagnosticsReport.self, from: Data(json.utf8))
        #expect(read.queue.map(\.name) == report.queue.map(\.name))
        for line in ["save List/b", "Queue: 2 changes", "Zone List", "failed", alice] {
            #expect(report.text.contains(line), "\(report.text)")
        }
        let values = try await phone.cache.diagnosticsReport(includingValues: true)
        #expect(values.text.contains("a third secret"))
    }

    @Test func lastFiveHundredEventsAreKept() async throws {
        let phone = try Device(RealService())
        let log = CacheLog(file: phone.cache.file, scope: .private, world: phone.time.world)
        for number in 0..<700 { log.note(.info, "test", ["number": "\(number)"]) }
        try phone.save("a", "1")
        for number in 700..<1_200 { log.note(.info, "test", ["number": "\(number)"]) }
        var events = try phone.cache.loggedEvents()
        #expect(events.count == 500 && events.last?.details["number"] == "1199")
        try phone.restart()
        events = try phone.cache.loggedEvents()
        #expect(events.map(\.details) == (700..<1_200).map { ["number": "\($0)"] })
    }

    @Test func eachEventIsWrittenOnce() throws {
        let phone = try Device(RealService())
        let log = CacheLog(file: phone.cache.file, scope: .private, world: phone.time.world)
        for number in 0..<3 {
            log.note(.info, "test", ["number": "\(number)"])
            try phone.save("a", "\(number)")
        }
        // Events of a transaction that fails are kept for the next one.
        log.note(.info, "test", ["number": "3"])
        #expect(throws: CancellationError.self) {
            try phone.cache.file.write { _ in throw CancellationError() }
        }
        let numbers = try phone.cache.loggedEvents().filter { $0.kind == "test" }
            .map { $0.details["number"] }
        #expect(numbers == ["0", "1", "2", "3"])
    }

    /// The app runs while another process has an open transaction.
    @Test func fileIsInspectedWhileAnAppRuns() async throws {
        let (_, phone) = try await troubled()
        // Stands for another process that is about to commit.
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(60)
        let other = try DatabaseQueue(path: phone.path, configuration: configuration)
        try other.inDatabase { database in
            try database.execute(sql: "BEGIN IMMEDIATE; UPDATE pending SET attempts = 7")
        }
        let (report, violations) = try CacheInspection.look(atFile: phone.path) { inspection in
            (
                try inspection.report(made: Date(), includingValues: false),
                try inspection.violations()
            )
        }
        #expect(report.queue.map(\.attempts) == [0, 0], "what is not committed is not there")
        #expect(violations.isEmpty, "\(violations)")
        try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try other.close()
    }

    #if os(Linux)
        @Test func reportOnFullDiskFails() async throws {
            let (_, phone) = try await troubled()
            let run = try ChildProcess.runIntoFullDisk("stratus-cache", ["inspect", phone.path])
            #expect(run.status == 1)
            #expect(run.error.hasPrefix("Error: The output was not written"), "\(run.error)")
        }
    #endif

    @Test func invariantViolationsAreFound() async throws {
        let (_, phone) = try await troubled()
        try await phone.cache.file.pool.write { database in
            try database.execute(
                sql: """
                    UPDATE record SET system = NULL WHERE name = 'a';
                    DELETE FROM record WHERE name = 'c';
                    UPDATE record SET fields = x'00' WHERE name = 'b';
                    UPDATE zone SET database = 9;
                    """)
        }
        let found = try CacheInspection.look(atFile: phone.path) { try $0.violations() }
        for part in [
            "no pending change will send it: a", "not here: c", "cannot be read: b",
            "neither private nor shared: List",
        ] {
            #expect(found.contains { $0.contains(part) }, "\(found)")
        }
    }

    @Test func inspectionOfMissingOrForeignFileIsRefused() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(atPath: path)
        }
        func error() -> CacheError? {
            #expect(throws: CacheError.self) {
                try CacheInspection.look(atFile: path) { try $0.violations() }
            }
        }
        #expect(error()?.code == .unwritable)
        try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: path))
        #expect(error()?.code == .damaged)
    }

    @Test func operationsAreTracedAsSpans() async throws {
        let tracer = InMemoryTracer()
        InstrumentationSystem.bootstrap(tracer)
        let (_, _) = try await troubled()
        let spans = tracer.finishedSpans
        let names = Set(spans.map(\.operationName))
        #expect(names.isSuperset(of: ["stratus.cache.send", "stratus.cache.fetchDatabaseChanges"]))
        #expect(spans.contains { !$0.errors.isEmpty })
    }
}
