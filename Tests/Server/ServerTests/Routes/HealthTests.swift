import Foundation
import StratusRecords
import StratusService
import StratusStorage
import TestServing
import Testing

@testable import StratusServer

/// The answers of `/health` over HTTP, for monitoring.
@Suite struct HealthTests {
    private static let lookup = """
        {"records":[{"recordName":"hut"}]}
        """

    /// A storage engine whose folder is not writable once a test says so.
    private struct FailingStorage: StorageEngine {
        private let storage = SQLiteStorageEngine.inMemory()

        var directory: any Directory { storage.directory }
        func store(for address: DatabaseAddress) async throws -> any RecordStore {
            throw StorageError(.notWritable, "The data folder cannot be written.")
        }
        func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
            try await storage.blobs(for: address)
        }
        func databasesWithBlobs() async throws -> [DatabaseAddress] { [] }
        func databases() async throws -> [DatabaseAddress] { [] }
        func close() async throws {}
    }

    @Test func stoppingServiceIsNotReady() async throws {
        let service = CloudService(
            storage: FailingStorage(), settings: ServiceSettings(isForDevelopment: true))
        try await withServer(service) { port in
            let connection = try BareConnection(port)
            let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let before = try await connection.ask(get)
            #expect(before.hasPrefix("HTTP/1.1 200"))
            #expect(before.hasSuffix(#"{"status":"ready"}"#))
            let refused = try await connection.ask(
                "POST /database/1/iCloud.org.example.Health/development/public/records/lookup"
                    + "?ckAPIToken=development HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: text/plain\r\n"
                    + "Content-Length: \(Self.lookup.utf8.count)\r\n\r\n\(Self.lookup)")
            #expect(refused.hasPrefix("HTTP/1.1 503"), "\(refused)")
            let after = try await connection.ask(get)
            #expect(after.hasPrefix("HTTP/1.1 503"), "\(after)")
            #expect(
                after.hasSuffix(
                    #"{"status":"not ready","damagedDatabases":0,"readOnly":false}"#))
        }
    }
}
