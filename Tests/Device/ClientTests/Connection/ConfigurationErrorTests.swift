import Foundation
import Hummingbird
import Logging
import StratusClient
import StratusServer
import StratusService
import StratusStorage
import TestServing
import Testing

/// A newcomer's first mistakes are explained in a sentence that contains the address.
@Suite(.timeLimit(.minutes(20))) struct ConfigurationErrorTests {
    private static let trails = "iCloud.org.example.Trails"

    private func mistake(
        _ variables: [String: String], container: String = trails,
        _ body: (CKDatabase) async throws -> Void = { _ = try await $0.allRecordZones() }
    ) async throws -> CKError {
        let connection = CloudConnection(environmentVariables: variables)
        let database = CKContainer(identifier: container, connection: connection)
            .privateCloudDatabase
        let error = await #expect(throws: CKError.self) { try await body(database) }
        return try #require(error)
    }

    private func expect(
        _ error: CKError, _ code: CKError.Code, says parts: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        for part in parts {
            #expect(
                error.localizedDescription.contains(part), "\(error.localizedDescription)",
                sourceLocation: sourceLocation)
            #expect("\(error)".contains(part), sourceLocation: sourceLocation)
        }
    }

    private func withService(
        isForDevelopment: Bool,
        _ body: @escaping @Sendable (CloudService, String) async throws -> Void
    ) async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: isForDevelopment))
        try await withServer(service) { try await body(service, "http://127.0.0.1:\($0)") }
    }

    @Test func missingAddressIsReportedBeforeMissingAccount() async throws {
        expect(
            try await mistake([:]), .badContainer,
            says: "STRATUS_URL is not set; set it to the address of a Stratus service.")
        let container = CKContainer(
            identifier: Self.trails, connection: CloudConnection(environmentVariables: [:]))
        await #expect(throws: CKError(.badContainer)) { try await container.accountStatus() }
        await #expect(throws: CKError(.badContainer)) { try await container.userRecordID() }
    }

    @Test(arguments: [
        "127.0.0.1:8080", "ftp://127.0.0.1", "cloud.example.org", "http://",
        "http://127.0.0.1:99999",
    ])
    func malformedAddressIsQuoted(_ address: String) async throws {
        let error = try await mistake(["STRATUS_URL": address, "STRATUS_DEV_USER": "ida"])
        expect(error, .badContainer, says: "STRATUS_URL is not an http or https address", address)
    }

    /// As in an address that was read from a line of a file.
    @Test func spaceAroundAddressIsIgnored() async throws {
        try await withService(isForDevelopment: true) { _, origin in
            let connection = CloudConnection(environmentVariables: [
                "STRATUS_URL": " \(origin)/\r\n", "STRATUS_DEV_USER": "ida",
            ])
            let database = CKContainer(identifier: Self.trails, connection: connection)
                .privateCloudDatabase
            _ = try await database.allRecordZones()
        }
    }

    @Test func unknownWebAuthTokenIsReported() async throws {
        try await withService(isForDevelopment: true) { _, origin in
            let error = try await mistake([
                "STRATUS_URL": origin, "STRATUS_WEB_AUTH_TOKEN": "old",
            ])
            expect(
                error, .notAuthenticated, says: "does not accept this web-auth token",
                "stratus token create --user", origin)
        }
    }

    @Test func missingAccountIsReported() async throws {
        let address = "http://127.0.0.1:1"
        let error = try await mistake(["STRATUS_URL": address])
        expect(
            error, .notAuthenticated, says: "STRATUS_WEB_AUTH_TOKEN", "STRATUS_DEV_USER", address)
        #expect(error.userInfo["StratusAddress"] as? String == address)
    }

    /// Calls that need a user, but no database.
    @Test func missingAccountOfContainerIsReported() async throws {
        let address = "http://127.0.0.1:1"
        let container = CKContainer(
            identifier: Self.trails,
            connection: CloudConnection(environmentVariables: ["STRATUS_URL": address]))
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await container.userRecordID() },
            { _ = try await container.shareParticipant(forEmailAddress: "bo@example.org") },
        ]
        for call in calls {
            let error = try #require(await #expect(throws: CKError.self) { try await call() })
            expect(
                error, .notAuthenticated, says: "There is no account on this device",
                "STRATUS_WEB_AUTH_TOKEN", "STRATUS_DEV_USER", address)
        }
    }

    @Test func refusedConnectionIsReportedWithAddress() async throws {
        let address = "http://127.0.0.1:1"
        let error = try await mistake(["STRATUS_URL": address, "STRATUS_DEV_USER": "ida"])
        expect(error, .networkFailure, says: "Nothing listens at the service's address", address)
    }

    @Test func tlsToPlainPortIsReported() async throws {
        try await withService(isForDevelopment: true) { _, origin in
            let address = origin.replacing("http:", with: "https:")
            let error = try await mistake(["STRATUS_URL": address, "STRATUS_DEV_USER": "ida"])
            expect(error, .networkFailure, says: "does not speak TLS", "http://", address)
        }
    }

    @Test func wrongAPITokenIsReported() async throws {
        try await withService(isForDevelopment: true) { service, origin in
            let other = try await service.accounts.createAPIToken(
                for: .init(container: "iCloud.org.example.Huts", environment: .development),
                name: "huts")
            for token in ["wrong", other] {
                let error = try await mistake([
                    "STRATUS_URL": origin, "STRATUS_DEV_USER": "ida", "STRATUS_API_TOKEN": token,
                ])
                expect(
                    error, .notAuthenticated, says: "Authentication failed", "STRATUS_API_TOKEN",
                    "stratus token create", origin)
                #expect(error.userInfo["StratusAddress"] as? String == origin)
            }
        }
    }

    @Test func serviceWithoutDevelopmentModeIsReported() async throws {
        try await withService(isForDevelopment: false) { _, origin in
            let error = try await mistake(["STRATUS_URL": origin, "STRATUS_DEV_USER": "ida"])
            expect(
                error, .notAuthenticated, says: "runs without --dev", "STRATUS_WEB_AUTH_TOKEN",
                origin)
            let anonymous = CKContainer(
                identifier: Self.trails,
                connection: CloudConnection(environmentVariables: ["STRATUS_URL": origin]))
            let refusal = await #expect(throws: CKError.self) {
                try await anonymous.publicCloudDatabase.allRecordZones()
            }
            expect(try #require(refusal), .notAuthenticated, says: "valid only with --dev", origin)
        }
    }

    @Test func undeployedRecordTypeIsReported() async throws {
        try await withService(isForDevelopment: true) { _, origin in
            let error = try await mistake([
                "STRATUS_URL": origin, "STRATUS_DEV_USER": "ida",
                "STRATUS_ENVIRONMENT": "production",
            ]) { database in
                _ = try await database.save(CKRecord(recordType: "Hut"))
            }
            expect(
                error, .invalidArguments, says: "Cannot create new type Hut in production schema",
                "stratus schema deploy", origin)
            #expect(error.userInfo["StratusAddress"] as? String == origin)
        }
    }

    /// The answer is nginx's; NetworkTests does the same with a Stratus server.
    @Test func plainHTTPToTLSPortOfNginxIsReported() async throws {
        let page =
            "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"
        try await withPage(page, status: 400) { address in
            let error = try await mistake([
                "STRATUS_URL": address, "STRATUS_WEB_AUTH_TOKEN": "t",
            ])
            expect(error, .networkFailure, says: "speaks TLS", "https://", address)
        }
    }

    @Test(arguments: [502, 404, 200])
    func errorPageOfProxyIsReported(_ status: Int) async throws {
        let page = "<html><body>Bad Gateway</body></html>"
        try await withPage(page, status: status) { address in
            let error = try await mistake([
                "STRATUS_URL": address, "STRATUS_WEB_AUTH_TOKEN": "t",
            ])
            let sentence =
                status == 200
                ? "answer does not follow the protocol"
                : "Something other than the service answered"
            expect(
                error, status == 502 ? .serviceUnavailable : .serverRejectedRequest,
                says: sentence, "HTTP \(status)", address)
        }
    }

    /// Runs a server that answers every request with a page.
    private func withPage(
        _ page: String, status: Int, _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        let pages = everyRequest { _ in
            Response(
                status: .init(code: status), headers: [.contentType: "text/html"],
                body: .init(byteBuffer: ByteBuffer(string: page)))
        }
        try await withServer(
            pages, { port in try await body("http://127.0.0.1:\(port)") })
    }
}
