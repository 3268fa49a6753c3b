import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import TestProcesses
import TestServing
import Testing

/// The long poll as browsers and other clients use it.
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

    /// One JSON object for each GET, without credentials; `{}` if there is none. The page's origin may read
    /// it.
    @Test func longPollReturnsOneNotificationOrEmptyObject() async throws {
        let created = try await ask(
            TokensCreate.self, .init(apnsEnvironment: "development"), scope: nil)
        _ = try await ask(
            TokensRegister.self,
            .init(apnsEnvironment: "development", apnsToken: created.apnsToken), scope: nil)
        _ = try await ask(
            SubscriptionsModify.self,
            .init([
                .init(.create, SubscriptionDictionary(subscriptionID: "d", kind: .database)),
                .init(.create, SubscriptionDictionary(subscriptionID: "e", kind: .database)),
            ]))
        // A client without a time limit: next to a thousand other tests an answer may take a minute.
        try await withServer(service) { port in
            func poll(_ path: String) async throws -> (status: Int, head: String, body: String) {
                try await BareConnection(port).onThread {
                    try $0.ask(
                        """
                        GET \(path) HTTP/1.1\r
                        Host: localhost\r
                        Origin: https://page.example\r
                        \r

                        """)
                }
            }
            #expect(try await poll(created.webcourierURL).body == "{}")
            _ = try await ask(
                ZonesModify.self,
                .init(operations: [.init(.create, ZoneIDDictionary(zoneName: "Trips"))]),
                device: "phone")
            await service.waitUntilIdle()
            var received: [String] = []
            for _ in 0..<2 {
                let response = try await poll(created.webcourierURL)
                let head = response.head.lowercased()
                #expect(response.status == 200)
                #expect(head.contains("\r\ncontent-type: application/json"))
                #expect(
                    head.contains("\r\naccess-control-allow-origin: https://page.example\r\n"))
                let payload = try Data(response.body.utf8).withUnsafeBytes {
                    try NotificationPayload.read(from: $0)
                }
                received.append(try #require(payload).subscriptionID)
            }
            #expect(received.sorted() == ["d", "e"])
            #expect(try await poll(created.webcourierURL).body == "{}")
            #expect(try await poll("/courier/aps?tok=unknown").status == 404)
        }
    }
}
