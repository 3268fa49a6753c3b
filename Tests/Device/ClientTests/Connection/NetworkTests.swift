import Foundation
import Hummingbird
import StratusServer
import StratusTesting
import TestProcesses
import TestServing
import Testing

@testable import StratusClient

/// Connections through a private certificate authority and through a proxy.
@Suite(.timeLimit(.minutes(20))) struct NetworkTests {
    /// An authority of the tests, and a certificate for localhost that it signed.
    struct Authority {
        static let tool = "/usr/bin/openssl"

        let folder: URL
        var certificate: String { path("ca.pem") }

        init() throws {
            folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("stratus-ca-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            try run(
                ["req", "-x509"] + key + [
                    "-keyout", path("ca.key"), "-out", path("ca.pem"), "-days", "2", "-subj",
                    "/CN=Authority of the tests",
                ])
            try run(
                ["req"] + key + [
                    "-keyout", path("key.pem"), "-out", path("request.pem"), "-subj",
                    "/CN=localhost",
                ])
            try Data("subjectAltName=DNS:localhost".utf8)
                .write(to: URL(fileURLWithPath: path("names")))
            try run([
                "x509", "-req", "-in", path("request.pem"), "-CA", path("ca.pem"), "-CAkey",
                path("ca.key"), "-CAcreateserial", "-out", path("certificate.pem"), "-days", "2",
                "-extfile", path("names"),
            ])
        }

        func files() throws -> TLSFiles {
            try TLSFiles(certificatePath: path("certificate.pem"), keyPath: path("key.pem"))
        }

        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

        private func run(_ arguments: [String]) throws {
            let process = try ChildProcess([Self.tool] + arguments, error: .nullDevice)
            try #require(process.end() == 0)
        }

        func remove() {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private func status(
        _ port: Int, _ network: HTTPTransport.Network, host: String = "localhost"
    ) async throws -> CKAccountStatus {
        let transport = try #require(
            HTTPTransport(
                origin: "https://\(host):\(port)",
                credentials: .init(apiToken: "development", developmentUser: "ida"),
                deviceID: "phone", network: network))
        let container = CKContainer(
            identifier: "iCloud.org.example.Trails",
            connection: CloudConnection(transport: transport, hasAccount: true))
        _ = try await container.privateCloudDatabase.allRecordZones()
        return try await container.accountStatus()
    }

    /// A server with a certificate that the tests' authority signed.
    private func withTLSServer(
        _ body: @escaping @Sendable (Authority, Int) async throws -> Void
    ) async throws {
        let authority = try Authority()
        defer { authority.remove() }
        try await withServer(.forDevelopment(), tls: try authority.files()) {
            try await body(authority, $0)
        }
    }

    @Test(.needsOpenSSL)
    func privateAuthorityIsTrustedByFileAndInCode() async throws {
        try await withTLSServer { authority, port in
            let byFile = HTTPTransport.Network(
                environmentVariables: ["SSL_CERT_FILE": authority.certificate])
            #expect(try await status(port, byFile) == .available)
            var inCode = HTTPTransport.Network(environmentVariables: [:])
            let stranger = inCode
            let error = await #expect(throws: CKError.self) {
                try await status(port, stranger)
            }
            #expect(error?.code == .networkFailure)
            #expect(
                "\(error!)".contains("is not trusted") && "\(error!)".contains("SSL_CERT_FILE"))
            let misnamed = await #expect(throws: CKError.self) {
                try await status(port, byFile, host: "127.0.0.1")
            }
            #expect("\(misnamed!)".contains("is for another name"), "\(misnamed!)")
            try inCode.trust(
                certificatesPEM: try String(
                    contentsOfFile: authority.certificate, encoding: .utf8))
            #expect(try await status(port, inCode) == .available)
        }
    }

    @Test(.needsOpenSSL)
    func plainHTTPToATLSPortIsReported() async throws {
        try await withTLSServer { _, port in
            let address = "http://localhost:\(port)"
            let connection = CloudConnection(environmentVariables: [
                "STRATUS_URL": address, "STRATUS_DEV_USER": "ida",
            ])
            let database = CKContainer(
                identifier: "iCloud.org.example.Trails", connection: connection
            ).privateCloudDatabase
            let error = await #expect(throws: CKError.self) {
                try await database.save(CKRecord(recordType: "Hut"))
            }
            #expect(error?.code == .networkFailure)
            for part in ["speaks TLS", "https://", address] {
                #expect(error?.localizedDescription.contains(part) == true, "\(error!)")
            }
        }
    }

    @Test func unreadableCertificatesAreReported() async throws {
        let missing = HTTPTransport.Network(environmentVariables: ["SSL_CERT_FILE": "/no/such/file"]
        )
        let error = await #expect(throws: CKError.self) { try await status(1, missing) }
        #expect(error?.code == .badContainer)
        #expect("\(error!)".contains("SSL_CERT_FILE") && "\(error!)".contains("/no/such/file"))
        var network = HTTPTransport.Network(environmentVariables: [:])
        #expect(throws: CKError(.invalidArguments)) { try network.trust(certificatesPEM: "x") }
    }

    @Test func requestsGoThroughProxyOfEnvironment() async throws {
        let asked = Log()
        let refusing = everyRequest { request in
            asked.add("\(request.method) \(request.uri)")
            return Response(status: .forbidden)
        }
        try await withServer(
            refusing,
            { port in
                let connection = CloudConnection(environmentVariables: [
                    // No name server knows this host: only a proxy can reach it.
                    "STRATUS_URL": "http://cloud.invalid", "STRATUS_WEB_AUTH_TOKEN": "t",
                    "http_proxy": "http://127.0.0.1:\(port)",
                ])
                let database = CKContainer(
                    identifier: "iCloud.org.example.Trails", connection: connection
                ).privateCloudDatabase
                _ = await codeOf { try await database.save(CKRecord(recordType: "Hut")) }
            })
        #expect(asked.all.first?.hasPrefix("CONNECT") == true, "\(asked.all)")
    }

    @Test func hostsAreReachedWithoutProxy() throws {
        let network = HTTPTransport.Network(environmentVariables: [
            "HTTPS_PROXY": "proxy.example.org:3128", "HTTP_PROXY": "http://ignored:1",
            "NO_PROXY": "intern.example.org, .lan",
        ])
        #expect(
            try network.proxy(for: "https://cloud.example.org")
                == .server(host: "proxy.example.org", port: 3128))
        for direct in [
            "http://cloud.example.org", "https://intern.example.org",
            "https://a.intern.example.org",
            "https://nas.lan:8443", "https://localhost:1", "https://127.0.0.1",
        ] {
            #expect(try network.proxy(for: direct) == nil, "\(direct)")
        }
        #expect(try network.proxy(for: "https://notlan") != nil)
        let bad = HTTPTransport.Network(environmentVariables: ["https_proxy": "socks5://a:1"])
        #expect(throws: TransportError.self) { try bad.proxy(for: "https://cloud.example.org") }
    }
}

extension Trait where Self == ConditionTrait {
    fileprivate static var needsOpenSSL: Self {
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: NetworkTests.Authority.tool),
            "needs openssl")
    }
}
