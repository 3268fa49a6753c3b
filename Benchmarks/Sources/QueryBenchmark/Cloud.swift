import StratusRecords
import StratusService
import StratusWire

/// One user's private database, used through the service's public interface.
struct Cloud: Sendable {
    private let service: CloudService
    private let address = ContainerAddress(
        container: "iCloud.org.example.Benchmark", environment: .development)
    private let credentials: Credentials

    /// Signs in.
    init(service: CloudService) async throws {
        self.service = service
        credentials = Credentials(
            apiToken: ServiceSettings.developmentToken,
            webAuthToken: try await service.signInForDevelopment(user: "alice").webAuthToken)
    }

    private func ask<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request
    ) async throws -> E.Answer {
        try await service.respond(
            to: endpoint, request, from: credentials, at: address, scope: .private
        ).answer
    }

    func makeZone(_ name: String) async throws {
        _ = try await ask(
            ZonesModify.self,
            .init(operations: [.init(.create, ZoneIDDictionary(zoneName: name))]))
    }

    func save(_ records: [RecordDictionary], in zone: String) async throws {
        let answer = try await ask(
            RecordsModify.self,
            .init(
                operations: records.map { .init(.forceUpdate, $0) },
                zoneID: ZoneIDDictionary(zoneName: zone)))
        for case .failure(let failure) in answer.records { throw failure.error }
    }

    func query(_ query: QueryDictionary, in zone: String, limit: Int) async throws -> Int {
        try await ask(
            RecordsQuery.self,
            .init(query: query, zoneID: ZoneIDDictionary(zoneName: zone), resultsLimit: limit)
        ).records.count
    }

    func waitUntilIdle() async { await service.waitUntilIdle() }
}
