import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import TestSeeds
import Testing

/// Sends mutated requests of several users over real sockets to a service with files: no crash, no 500, no other
/// user's data in an answer, and a consistent folder afterwards.
///
/// Runs for a minute; `STRATUS_FUZZ_SECONDS=3600` makes it an hour, `STRATUS_SEED` repeats a run.
@Suite struct ServerFuzzTests {
    @Test func mutatedRequestsLeaveServiceAndFolderHealthy() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["STRATUS_FUZZ_SECONDS"].flatMap(Double.init) ?? 60
        let seed = try #require(Seeds.forTest("ServerFuzzTests, requests", count: 1).last)
        print("fuzzing for \(seconds) s with the seed \(seed)")
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-fuzz-\(seed)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: folder)
        }
        let storage = try SQLiteStorageEngine(folder: folder)
        let service = CloudService(
            storage: storage, settings: ServiceSettings(isForDevelopment: true))
        var logger = Logger(label: "fuzz")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: logger,
            onListening: { _ in })
        let fuzzer: Fuzzer = try await server.test(.ahc(.http)) { client in
            try await Fuzzer.run(client: client, service: service, seed: seed, seconds: seconds)
        }
        print(
            "fuzzing sent \(fuzzer.requests) requests, of which \(fuzzer.accepted) were accepted"
        )
        // Requests that are all refused at the first check test nothing.
        #expect(fuzzer.accepted > fuzzer.requests / 20)
        #expect(fuzzer.dropped < fuzzer.requests / 1_000 + 3)
        await service.waitUntilIdle()
        try await storage.close()
        let again = try SQLiteStorageEngine(folder: folder)
        #expect(try await Doctor(storage: again).examine().findings == [])
        try await again.close()
    }
}
