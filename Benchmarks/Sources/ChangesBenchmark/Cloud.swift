import StratusRecords
import StratusService
import StratusWire

/// One user's private database, asked through the service's own face.
final class Cloud {
    private let service: CloudService
    private let address = ContainerAddress(
        container: "iCloud.org.example.Benchmark", environment: .development)
    private var credentials = Credentials(apiToken: ServiceSettings.developmentToken)

    init(service: CloudService) {
        self.service = service
    }

    func signIn() async throws {
        credentials.webAuthToken = try await service.signInForDevelopment(user: "alice")
            .webAuthToken
    }

    private func ask<E: ServedEndpoint>(_ endpoint: E.Type, _ request: E.Request) async throws
        -> E.Answer
    {
        try await service.respond(
            to: endpoint, request, from: credentials, at: address, scope: .private
        ).answer
    }

    func fill(_ zone: String, records: Int) async throws {
        _ = try await ask(
            ZonesModify.self,
            .init(operations: [.init(.create, ZoneIDDictionary(zoneName: zone))]))
        for start in stride(from: 0, to: records, by: 400) {
            try await save(zone, from: start, to: min(start + 400, records))
        }
    }

    func save(_ zone: String, from start: Int, to end: Int) async throws {
        let operations = (start..<end).map { number in
            RecordsModify.Operation(
                .forceUpdate,
                RecordDictionary(
                    recordName: "record-\(number)", recordType: "Item",
                    fields: .values([
                        Field(name: "title", value: .string("Item number \(number)")),
                        Field(name: "note", value: .string("Bought by Alice on a Saturday")),
                        Field(name: "count", value: .int64(Int64(number))),
                        Field(name: "position", value: .int64(Int64(number) * 7)),
                        Field(name: "price", value: .double(Double(number) / 8)),
                    ])))
        }
        _ = try await ask(
            RecordsModify.self,
            .init(operations: operations, zoneID: ZoneIDDictionary(zoneName: zone)))
    }

    /// Fetches everything.
    ///
    /// - Returns: the change token at the end.
    func readToEnd(_ zone: String) async throws -> String {
        var token: String?
        while true {
            let page = try await page(zone, since: token, limit: 2_000)
            token = page.syncToken
            if !page.moreComing { return page.syncToken }
        }
    }

    func fetch(_ zone: String, since token: String) async throws -> Int {
        try await page(zone, since: token, limit: nil).records.count
    }

    private func page(_ zone: String, since token: String?, limit: Int?) async throws
        -> ChangesZone.Page
    {
        let answer = try await ask(
            ChangesZone.self,
            .init(zones: [
                .init(
                    zoneID: ZoneIDDictionary(zoneName: zone), syncToken: token, resultsLimit: limit)
            ]))
        guard case .page(let page) = answer.zones[0] else {
            throw RequestFailure(.init(.notFound, "No page."))
        }
        return page
    }
}
