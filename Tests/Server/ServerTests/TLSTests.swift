import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOSSL
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Testing

/// The server speaks TLS by itself, with a certificate of the tests.
@Suite struct TLSTests {
    /// A certificate for localhost, signed by itself, and a key.
    private struct Files {
        let folder: URL
        var certificate: String { folder.appendingPathComponent("certificate.pem").path }
        var key: String { folder.appendingPathComponent("key.pem").path }

        init(key keyPEM: String = APNsStandIn.keyPEM) throws {
            folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("stratus-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(APNsStandIn.certificatePEM.utf8).write(to: URL(fileURLWithPath: certificate))
            try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: key))
        }

        /// Belongs to no certificate here.
        static let strangersKey = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaiUcXtM4kfZ/YB3w
            HuXinJLPf0xmEqMGCCVUsAHwuKGhRANCAASB7O18wyJdMiCEahUWdTFGKqE0eLS/
            q1whxjMz3YVQEbQbfDbcgVRpFFPTCzQp12J/p40sWWlKZuM+DbISuGjo
            -----END PRIVATE KEY-----
            """

        func remove() {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func trustingClientIsServedOverTLS() async throws {
        let files = try Files()
        defer { files.remove() }
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0,
            tls: TLSFiles(certificatePath: files.certificate, keyPath: files.key),
            logger: Logger(label: "test"),
            onListening: { port.yield($0) })
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(files.certificate)
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: .init(tlsConfiguration: tls))
        let stranger = HTTPClient(eventLoopGroupProvider: .singleton)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                let origin = "https://localhost:\(number)"
                let health = try await client.execute(
                    HTTPClientRequest(url: origin + "/health"), timeout: .seconds(10))
                #expect(health.status == .ok)
                let refused = try await client.execute(
                    HTTPClientRequest(
                        url: origin + "/database/1/iCloud.org.example.Trails/development/public"
                            + "/users/caller?ckAPIToken=development"),
                    timeout: .seconds(10))
                let body = String(buffer: try await refused.body.collect(upTo: 10_000))
                #expect(refused.status == .init(statusCode: 421))
                #expect(body.contains("\(origin)/auth/sign-in?request="), "\(body)")
                await #expect(throws: (any Error).self) {
                    try await stranger.execute(
                        HTTPClientRequest(url: origin + "/health"), timeout: .seconds(10))
                }
                break
            }
            group.cancelAll()
        }
        try await client.shutdown()
        try await stranger.shutdown()
    }

    /// Another certificate for localhost, and its key.
    private static let renewedCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBYTCCAQegAwIBAgIBCDAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCx7ao8MoOO94XZE
        aIMAXhM3IytjF28ykKodFxYAK5Jsq2gs/pSZ2Pe+mWUzCOdvKDS5REzEgYnRyhIi
        AjQGjdCjSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBQWgIVhAx1fTWUdq7r3Emgq54fGITAKBggqhkjOPQQDAgNIADBF
        AiEAtSMfp29XKATYRoKUstnPKVSLVPjnEnVuPSVOKAQip4ICIDHTOq7CjXwEJ/Qt
        eF4PYYd7HxZ2VE9NMJeYn3ILQXp2
        -----END CERTIFICATE-----
        """
    private static let renewedKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNtpZOH/DGO5i0GwL
        pZ2s4qS5B0C3g7i8AA0MTc0V/5KhRANCAAQse2qPDKDjveF2RGiDAF4TNyMrYxdv
        MpCqHRcWACuSbKtoLP6Umdj3vpllMwjnbyg0uURMxIGJ0coSIgI0Bo3Q
        -----END PRIVATE KEY-----
        """

    /// Files that were replaced are read again; what is no certificate changes nothing.
    @Test func reloadedCertificateIsServedToNewConnections() async throws {
        let files = try Files()
        defer { files.remove() }
        let tls = try TLSFiles(certificatePath: files.certificate, keyPath: files.key)
        let old = try TLSConfiguration.trusting(APNsStandIn.certificatePEM)
        let renewed = try TLSConfiguration.trusting(Self.renewedCertificate)
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, tls: tls, logger: Logger(label: "test"),
            onListening: { port.yield($0) })
        func isServed(_ configuration: TLSConfiguration, _ port: Int) async throws -> Bool {
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: .init(tlsConfiguration: configuration))
            // A certificate that is not trusted is the answer no.
            let answer = try? await client.execute(
                HTTPClientRequest(url: "https://localhost:\(port)/health"), timeout: .seconds(10))
            try await client.shutdown()
            return answer?.status == .ok
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                #expect(try await isServed(old, number))
                try Data(Self.renewedCertificate.utf8).write(
                    to: URL(fileURLWithPath: files.certificate))
                #expect(throws: TLSFiles.Unusable.self) { try tls.reload() }
                #expect(try await isServed(old, number))
                try Data(Self.renewedKey.utf8).write(to: URL(fileURLWithPath: files.key))
                try tls.reload()
                #expect(try await isServed(renewed, number))
                #expect(try await !isServed(old, number))
                break
            }
            group.cancelAll()
        }
    }

    /// Who speaks plain HTTP here is answered in plain HTTP, also who sends much of a body.
    @Test(arguments: ["GET", "POST", "PRI"])
    func plainHTTPIsAnsweredInPlainHTTP(_ method: String) async throws {
        let files = try Files()
        defer { files.remove() }
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0,
            tls: TLSFiles(certificatePath: files.certificate, keyPath: files.key),
            logger: Logger(label: "test"), onListening: { port.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                let connection = try BareConnection(number)
                let answer = try await connection.ask(
                    "\(method) /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000\r\n\r\n"
                        + String(repeating: "x", count: method == "POST" ? 30_000 : 0))
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(answer.lowercased().contains("x-apple-request-uuid: "))
                #expect(answer.contains(#""serverErrorCode":"BAD_REQUEST""#))
                #expect(answer.contains("The plain HTTP request was sent to an HTTPS port"))
                #expect(await connection.isClosed())
                break
            }
            group.cancelAll()
        }
    }

    @Test func mismatchedCertificateAndKeyAreRefused() async throws {
        let one = try Files()
        let other = try Files(key: Files.strangersKey)
        defer {
            one.remove()
            other.remove()
        }
        for (certificate, key) in [
            (one.certificate, other.key), (one.key, one.key), (one.certificate, one.certificate),
            ("/nowhere", one.key), (one.certificate, "/nowhere"),
        ] {
            #expect(throws: TLSFiles.Unusable.self) {
                try TLSFiles(certificatePath: certificate, keyPath: key)
            }
        }
    }
}

extension TLSConfiguration {
    /// A client's, who trusts one certificate.
    fileprivate static func trusting(_ pem: String) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        return configuration
    }
}
