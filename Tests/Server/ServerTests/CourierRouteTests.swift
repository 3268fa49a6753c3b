import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import StratusWire
import Testing

/// The long poll as browsers and other clients see it.
@Suite struct CourierRouteTests {
    private static let address = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    private let service: CloudService

    init() {
        var limits = Limits()
        limits.longPollSeconds = 0.05
        service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true, limits: limits))
    }

    private func ask<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, scope: DatabaseScope? = .private,
        device: String = "tablet"
    ) async throws -> E.Answer {
        let signIn = try await service.signInForDevelopment(user: "alice")
        return try await service.respond(
            to: endpoint, request,
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: signIn.webAuthToken,
                clientID: device, wantsExtensions: true),
            at: Self.address, scope: scope
        ).answer
    }

    /// One JSON object for each GET, without credentials; `{}` when there is nothing; the page's origin
    /// may read it.
    @Test func longPollReturnsOneNotificationOrEmptyObject() async throws {
        let created = try await ask(
            TokensCreate.self, .init(apnsEnvironment: "development"), scope: nil)
        _ = try await ask(
            TokensRegister.self,
            .init(apnsEnvironment: "development", apnsToken: created.apnsToken), scope: nil)
        _ = try await ask(
            SubscriptionsModify.self,
            .init(operations: [
                .init(.create, SubscriptionDictionary(subscriptionID: "d", kind: .database)),
                .init(.create, SubscriptionDictionary(subscriptionID: "e", kind: .database)),
            ]))
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
            makeUUID: { "uuid" }, onListening: { _ in })
        try await server.test(.ahc()) { client in
            func poll(_ uri: String) async throws -> TestResponse {
                try await client.execute(
                    uri: uri, method: .get, headers: [.origin: "https://page.example"])
            }
            #expect(String(buffer: try await poll(created.webcourierURL).body) == "{}")
            _ = try await ask(
                ZonesModify.self,
                .init(operations: [.init(.create, ZoneIDDictionary(zoneName: "Trips"))]),
                device: "phone")
            await service.waitUntilIdle()
            var received: [String] = []
            for _ in 0..<2 {
                let response = try await poll(created.webcourierURL)
                #expect(response.status == .ok)
                #expect(response.headers[.contentType]?.hasPrefix("application/json") == true)
                #expect(response.headers[.accessControlAllowOrigin] == "https://page.example")
                let payload = try response.body.withUnsafeReadableBytes {
                    try NotificationPayload.read(from: $0)
                }
                received.append(try #require(payload).subscriptionID)
            }
            #expect(received.sorted() == ["d", "e"])
            #expect(String(buffer: try await poll(created.webcourierURL).body) == "{}")
            #expect(try await poll("/courier/aps?tok=unknown").status == .notFound)
        }
    }
}
