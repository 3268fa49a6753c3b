import Foundation
import Hummingbird
import Logging
import StratusClient
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Testing

/// Large assets over connections that do not hold.
@Suite struct ResumedUploadTests {
    private static let bytes = 20_000_000
    private static let film = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) })

    /// Twice cut after 6 MB, 20 MB go on where they ended: what is sent is hardly more than they are.
    @Test func uploadThatWasCutGoesOnWhereItEnded() async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        try await serve(
            { listening in
                try buildServer(
                    service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
                    onListening: listening)
            },
            { port in
                let relay = try CuttingRelay(to: port, cuts: 2, after: 6_000_000)
                let database = CKContainer(
                    identifier: "iCloud.org.example.Trails",
                    connection: CloudConnection(environmentVariables: [
                        "STRATUS_URL": "http://127.0.0.1:\(relay.port)/",
                        "STRATUS_DEV_USER": "ida",
                    ])
                ).privateCloudDatabase
                let file = FileManager.default.temporaryDirectory
                    .appendingPathComponent("stratus-film-\(UUID().uuidString)")
                try Self.film.write(to: file)
                // A leftover in the temporary folder fails no test.
                defer { try? FileManager.default.removeItem(at: file) }
                let record = CKRecord(recordType: "Film", recordID: .init(recordName: "f"))
                record["film"] = CKAsset(fileURL: file)
                // Others leave it to the app to try again.
                let configuration = CKOperation.Configuration()
                configuration.qualityOfService = .utility
                let saving = record
                try await database.configuredWith(configuration: configuration) {
                    _ = try await $0.save(saving)
                }
                #expect(relay.cuts == 0)
                let sent = relay.sentBytes
                #expect((Self.bytes..<(Self.bytes + 5_000_000)).contains(sent), "\(sent)")
                let fetched = try await database.record(for: .init(recordName: "f"))
                let url = try #require((fetched["film"] as? CKAsset)?.fileURL)
                #expect(try Data(contentsOf: url) == Self.film)
            })
    }
}
