import StratusRecords
import StratusService
import StratusWire

/// A user with a private database and a separate network address.
struct Person: Sendable {
    private let service: CloudService
    private let address = ContainerAddress(
        container: "iCloud.org.example.Benchmark", environment: .development)
    private let credentials: Credentials

    init(_ name: String, service: CloudService) async throws {
        self.service = service
        credentials = Credentials(
            apiToken: ServiceSettings.developmentToken,
            webAuthToken: try await service.signInForDevelopment(user: name).webAuthToken,
            clientID: name)
    }

    /// Saves records under the numbers from one on.
    ///
    /// - Returns: false when the service refused for now.
    func save(_ count: Int, from start: Int) async throws -> Bool {
        let records = (start..<start + count).map { number in
            RecordDictionary(
                recordName: "r\(number)", recordType: "Item",
                fields: .values([
                    Field(name: "title", value: .string("the item with the number \(number)")),
                    Field(name: "rank", value: .int64(Int64(number))),
                ]))
        }
        do {
            let answer = try await service.respond(
                to: RecordsModify.self, .init(operations: records.map { .init(.forceUpdate, $0) }),
                from: credentials, at: address, scope: .private
            ).answer
            for case .failure(let failure) in answer.records { throw failure.error }
            return true
        } catch let failure as RequestFailure
            where [.throttled, .tryAgainLater].contains(failure.error.code)
        {
            // Slowed down, as is measured here; the caller counts it.
            return false
        }
    }

    func lookup(_ number: Int) async throws -> Bool {
        let result = try await service.respond(
            to: RecordsLookup.self, .init(records: [.init(recordName: "r\(number)")]),
            from: credentials, at: address, scope: .private
        ).answer.records[0]
        if case .record = result { return true }
        return false
    }
}
