import Foundation
import StratusClient
import StratusService
import StratusStorage
import StratusTesting
import TestServing
import Testing

/// Runs the rules of the service in process on both stores, and over real sockets.
@Suite struct ServiceConformanceTests {
    @Test(arguments: ServiceConformance.cases)
    func serviceInMemoryConforms(_ rule: ServiceConformance.Case) async throws {
        try await rule.run(on: Self.inProcess(SQLiteStorageEngine.inMemory()))
    }

    @Test(arguments: ServiceConformance.cases)
    func serviceOnDiskConforms(_ rule: ServiceConformance.Case) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-conformance-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: folder)
        }
        let storage = try SQLiteStorageEngine(folder: folder)
        try await rule.run(on: Self.inProcess(storage))
        // The folder keeps its invariants after every case.
        #expect(try await Doctor(storage: storage).examine().findings == [])
        try await storage.close()
    }

    @Test(arguments: ServiceConformance.cases)
    func serviceOverHTTPConforms(_ rule: ServiceConformance.Case) async throws {
        try await withServer(.forDevelopment()) { port in
            let stage = ServiceConformance.Stage { user, device in
                guard
                    let transport = HTTPTransport(
                        origin: "http://127.0.0.1:\(port)",
                        credentials: .init(
                            apiToken: ServiceSettings.developmentToken, developmentUser: user),
                        deviceID: device)
                else { throw CancellationError() }
                return transport
            }
            try await rule.run(on: stage)
        }
    }

    private static func inProcess(_ storage: any StorageEngine) -> ServiceConformance.Stage {
        let service = CloudService(
            storage: storage, settings: ServiceSettings(isForDevelopment: true))
        return ServiceConformance.Stage { user, device in
            var token: String?
            if let user { token = try await service.signInForDevelopment(user: user).webAuthToken }
            return InProcessTransport(service: service, webAuthToken: token, device: device)
        }
    }
}
