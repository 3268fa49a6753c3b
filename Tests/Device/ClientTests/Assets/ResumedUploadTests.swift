import Foundation
import Hummingbird
import Logging
import StratusClient
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import TestServing
import Testing

/// Large assets over connections that are cut.
@Suite struct ResumedUploadTests {
    private static let bytes = 20_000_000
    private static let film = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) })

    /// An upload of 20 MB is cut twice after 6 MB and resumes where it was cut, so little more than 20 MB is sent. The
    /// app gets no error, whatever the quality of service.
    @Test(arguments: [QualityOfService.utility, .default, .userInitiated])
    func interruptedUploadResumesWhereItEnded(_ quality: QualityOfService) async throws {
        try await withRelay(cuts: 2) { relay, database in
            let record = CKRecord(recordType: "Film", recordID: .init(recordName: "f"))
            try await save(record, in: database, quality)
            #expect(relay.cuts == 0)
            let sent = relay.sentBytes
            #expect((Self.bytes..<(Self.bytes + 5_000_000)).contains(sent), "\(sent)")
            let fetched = try await database.record(for: .init(recordName: "f"))
            let url = try #require((fetched["film"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: url) == Self.film)
        }
    }

    /// When every connection is cut, the error comes after a bounded number of attempts.
    @Test func alwaysInterruptedUploadFails() async throws {
        try await withRelay(cuts: 1_000, after: 1_000_000) { relay, database in
            let record = CKRecord(recordType: "Film", recordID: .init(recordName: "f"))
            let error = await #expect(throws: CKError.self) {
                try await save(record, in: database, .userInitiated)
            }
            #expect(error?.isNetworkError == true, "\(String(describing: error))")
            #expect((2...8).contains(1_000 - relay.cuts), "\(relay.cuts)")
        }
    }

    private func save(
        _ record: CKRecord, in database: CKDatabase, _ quality: QualityOfService
    ) async throws {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-film-\(UUID().uuidString)")
        try Self.film.write(to: file)
        // A leftover in the temporary folder fails no test.
        defer { try? FileManager.default.removeItem(at: file) }
        record["film"] = CKAsset(fileURL: file)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = quality
        try await database.configuredWith(configuration: configuration) {
            _ = try await $0.save(record)
        }
    }

    private func withRelay(
        cuts: Int, after bytes: Int = 6_000_000,
        _ body: @escaping @Sendable (CuttingRelay, CKDatabase) async throws -> Void
    ) async throws {
        try await withServer(
            .forDevelopment(),
            { port in
                let relay = try CuttingRelay(to: port, cuts: cuts, after: bytes)
                let database = CKContainer(
                    identifier: "iCloud.org.example.Trails",
                    connection: CloudConnection(environmentVariables: [
                        "STRATUS_URL": "http://127.0.0.1:\(relay.port)/",
                        "STRATUS_DEV_USER": "ida",
                    ])
                ).privateCloudDatabase
                try await body(relay, database)
            })
    }
}

extension CKError {
    fileprivate var isNetworkError: Bool {
        [.serverResponseLost, .networkFailure, .serviceUnavailable].contains(code)
    }
}
