import AsyncHTTPClient
import JWTKit
import NIOHPACK
import NIOSSL
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import StratusWire
import Synchronization
import Testing

/// Notifications that go to a push service over HTTP/2 and TLS.
@Suite struct APNsDeliveryTests {
    private static let key = ES256PrivateKey()
    private static let deviceToken = String(repeating: "0a", count: 32)

    private final class Clock: Sendable {
        let milliseconds = Mutex<Int64>(1_750_000_000_000)
    }

    private struct Claims: JWTPayload {
        var iss: IssuerClaim
        var iat: IssuedAtClaim
        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private static func push(_ kind: Push.Kind = .alert, payload: String = "{}") -> Push {
        Push(
            deviceToken: deviceToken, environment: .production,
            containerIdentifier: "iCloud.org.example.Trails", kind: kind,
            collapseIdentifier: "same", expirationSeconds: 1_750_086_400,
            payload: Array(payload.utf8))
    }

    /// Runs a push service and a delivery to it.
    private func withDelivery(
        _ answers: [APNsStandIn.Answer] = [], clock: Clock = Clock(), topic: String? = nil,
        _ body: (APNsDelivery, APNsStandIn) async throws -> Void
    ) async throws {
        let standIn = try APNsStandIn(answers)
        let url = try await standIn.start()
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([standIn.certificate])
        configuration.tlsConfiguration = tls
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: configuration)
        let delivery = try APNsDelivery(
            APNsSettings(
                privateKey: Self.key.pemRepresentation, keyIdentifier: "KEY1234567",
                teamIdentifier: "TEAM123456", topic: topic, url: url),
            client: client, world: .init(nowMilliseconds: { clock.milliseconds.withLock { $0 } }))
        do {
            try await body(delivery, standIn)
        } catch {
            try await client.shutdown()
            try await standIn.stop()
            throw error
        }
        try await client.shutdown()
        try await standIn.stop()
    }

    @Test func requestCarriesAPNsHeadersAndSignedToken() async throws {
        try await withDelivery { delivery, standIn in
            let payload = #"{"aps":{"alert":{"body":"New hut"}}}"#
            #expect(await delivery.send(Self.push(payload: payload)) == .delivered)
            let received = try #require(await standIn.next())
            func header(_ name: String) -> String? { received.headers.first(name: name) }
            #expect(header(":method") == "POST")
            #expect(header(":path") == "/3/device/\(Self.deviceToken)")
            #expect(header("apns-topic") == "org.example.Trails")
            #expect(header("apns-push-type") == "alert")
            #expect(header("apns-priority") == "10")
            #expect(header("apns-collapse-id") == "same")
            #expect(header("apns-expiration") == "1750086400")
            #expect(String(decoding: received.body, as: UTF8.self) == payload)
            let authorization = try #require(header("authorization"))
            #expect(authorization.hasPrefix("bearer "))
            let keys = JWTKeyCollection()
            await keys.add(ecdsa: Self.key.publicKey, kid: "KEY1234567")
            let claims = try await keys.verify(
                String(authorization.dropFirst("bearer ".count)), as: Claims.self)
            #expect(claims.iss.value == "TEAM123456")
            #expect(claims.iat.value.timeIntervalSince1970 == 1_750_000_000)
        }
    }

    /// Requests share connections, and one signature for forty minutes.
    @Test func connectionAndTokenAreReused() async throws {
        let clock = Clock()
        try await withDelivery(clock: clock, topic: "org.example.app") { delivery, standIn in
            var tokens: [String?] = []
            // On a busy machine the client may open another one while it still waits for the first.
            var connections: Set<ObjectIdentifier?> = []
            for minutes in [0, 39, 2, 1] as [Int64] {
                clock.milliseconds.withLock { $0 += minutes * 60_000 }
                #expect(await delivery.send(Self.push(.background)) == .delivered)
                let received = try #require(await standIn.next())
                #expect(received.headers.first(name: "apns-priority") == "5")
                #expect(received.headers.first(name: "apns-push-type") == "background")
                #expect(received.headers.first(name: "apns-topic") == "org.example.app")
                tokens.append(received.headers.first(name: "authorization"))
                connections.insert(received.connection)
            }
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2] && tokens[2] == tokens[3])
            #expect(connections.count < tokens.count && !connections.contains(nil))
        }
    }

    @Test func apnsStatusDeterminesPushOutcome() async throws {
        let cases: [(APNsStandIn.Answer, PushOutcome)] = [
            (
                .init(status: 410, body: #"{"reason":"Unregistered","timestamp":1700000000000}"#),
                .deviceIsGone(sinceMilliseconds: 1_700_000_000_000)
            ),
            (
                .init(status: 400, body: #"{"reason":"BadDeviceToken"}"#),
                .deviceIsGone(sinceMilliseconds: nil)
            ),
            (
                .init(status: 400, body: #"{"reason":"BadTopic"}"#),
                .refused(reason: "BadTopic")
            ),
            (
                .init(
                    status: 429, body: #"{"reason":"TooManyRequests"}"#,
                    headers: [("retry-after", "7")]),
                .tryLater(seconds: 7, reason: "TooManyRequests")
            ),
            (.init(status: 503, body: "no JSON"), .tryLater(seconds: nil, reason: "503")),
            (
                .init(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#),
                .tryLater(seconds: nil, reason: "ExpiredProviderToken")
            ),
            (.init(status: 200), .delivered),
        ]
        try await withDelivery(cases.map(\.0)) { delivery, _ in
            for (_, expected) in cases {
                #expect(await delivery.send(Self.push()) == expected)
            }
        }
    }

    @Test func unreachablePushServiceReturnsTryLater() async throws {
        let delivery = try APNsDelivery(
            APNsSettings(
                privateKey: Self.key.pemRepresentation, keyIdentifier: "k", teamIdentifier: "t",
                // No process listens on this port.
                url: "https://127.0.0.1:1"), attemptSeconds: 0.2)
        guard case .tryLater(seconds: nil, let reason?) = await delivery.send(Self.push()) else {
            Issue.record("An unreachable push service is a reason to try later.")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func invalidAPNsKeyIsRefused() {
        #expect(throws: APNsKeyError.self) {
            try APNsDelivery(
                APNsSettings(privateKey: "nonsense", keyIdentifier: "k", teamIdentifier: "t"))
        }
    }

    /// A save reaches the push service; a push token that the push service does not know is forgotten.
    @Test func saveSendsPushAndForgetsUnregisteredToken() async throws {
        let gone = APNsStandIn.Answer(status: 410, body: #"{"reason":"Unregistered"}"#)
        try await withDelivery([gone]) { delivery, standIn in
            let storage = SQLiteStorageEngine.inMemory()
            let service = CloudService(
                storage: storage,
                settings: ServiceSettings(isForDevelopment: true, pushDelivery: delivery))
            let signIn = try await service.signInForDevelopment(user: "alice")
            let address = ContainerAddress(
                container: "iCloud.org.example.Trails", environment: .development)
            func credentials(_ device: String) -> Credentials {
                Credentials(
                    apiToken: ServiceSettings.developmentToken, webAuthToken: signIn.webAuthToken,
                    clientID: device, wantsExtensions: true)
            }
            _ = try await service.respond(
                to: TokensRegister.self,
                .init(apnsEnvironment: "production", apnsToken: Self.deviceToken),
                from: credentials("tablet"), at: address, scope: nil)
            _ = try await service.respond(
                to: SubscriptionsModify.self,
                .init([
                    .init(.create, SubscriptionDictionary(subscriptionID: "d", kind: .database))
                ]), from: credentials("tablet"), at: address, scope: .private)
            _ = try await service.respond(
                to: ZonesModify.self,
                .init(operations: [.init(.create, ZoneIDDictionary(zoneName: "Trips"))]),
                from: credentials("phone"), at: address, scope: .private)
            let received = try #require(await standIn.next())
            let payload = try received.body.withUnsafeBytes {
                try NotificationPayload.read(from: $0)
            }
            #expect(payload?.cause == .database && payload?.subscriptionID == "d")
            while try await storage.directory.device(pushToken: Self.deviceToken) != nil {
                await Task.yield()
            }
        }
    }
}
