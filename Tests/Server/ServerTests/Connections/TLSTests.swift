import AsyncHTTPClient
import Foundation
import NIOSSL
import StratusServer
import TestProcesses
import TestServing
import Testing

/// The server handles TLS itself, with the tests' certificate.
@Suite struct TLSTests {
    /// A key that belongs to no certificate here.
    private static let strangersKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaiUcXtM4kfZ/YB3w
        HuXinJLPf0xmEqMGCCVUsAHwuKGhRANCAASB7O18wyJdMiCEahUWdTFGKqE0eLS/
        q1whxjMz3YVQEbQbfDbcgVRpFFPTCzQp12J/p40sWWlKZuM+DbISuGjo
        -----END PRIVATE KEY-----
        """

    @Test func trustingClientIsServedOverTLS() async throws {
        let files = try CertificateFiles()
        defer { files.remove() }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(files.certificate)
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: .init(tlsConfiguration: tls))
        let stranger = HTTPClient(eventLoopGroupProvider: .singleton)
        let outcome: Result<Void, any Error>
        do {
            try await withServer(.forDevelopment(), tls: try files.read()) { number in
                let origin = "https://localhost:\(number)"
                let health = try await client.execute(
                    HTTPClientRequest(url: origin + "/health"), timeout: .seconds(120))
                #expect(health.status == .ok)
                let refused = try await client.execute(
                    HTTPClientRequest(
                        url: origin + "/database/1/iCloud.org.example.Trails/development/public"
                            + "/users/caller?ckAPIToken=development"),
                    timeout: .seconds(120))
                let body = String(buffer: try await refused.body.collect(upTo: 10_000))
                #expect(refused.status == .init(statusCode: 421))
                #expect(body.contains("\(origin)/auth/sign-in?request="), "\(body)")
                await #expect(throws: (any Error).self) {
                    try await stranger.execute(
                        HTTPClientRequest(url: origin + "/health"), timeout: .seconds(120))
                }
            }
            outcome = .success(())
        } catch {
            // A client that is not shut down ends the process.
            outcome = .failure(error)
        }
        try await client.shutdown()
        try await stranger.shutdown()
        try outcome.get()
    }

    /// Replaced certificate files are read again; a file that is not a certificate changes nothing.
    @Test func reloadedCertificateIsServedToNewConnections() async throws {
        let files = try CertificateFiles()
        defer { files.remove() }
        let tls = try files.read()
        let old = try TLSConfiguration.trusting(APNsStandIn.certificatePEM)
        let renewed = try TLSConfiguration.trusting(LocalhostCertificate.pem)
        @Sendable func isServed(_ configuration: TLSConfiguration, _ port: Int) async throws -> Bool
        {
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: .init(tlsConfiguration: configuration))
            // With an untrusted certificate the request fails, and there is no answer.
            let answer = try? await client.execute(
                HTTPClientRequest(url: "https://localhost:\(port)/health"), timeout: .seconds(10))
            try await client.shutdown()
            return answer?.status == .ok
        }
        try await withServer(.forDevelopment(), tls: tls) { number in
            #expect(try await isServed(old, number))
            try Data(LocalhostCertificate.pem.utf8).write(
                to: URL(fileURLWithPath: files.certificate))
            #expect(throws: TLSFiles.Unusable.self) { try tls.reload() }
            #expect(try await isServed(old, number))
            try Data(LocalhostCertificate.keyPEM.utf8).write(to: URL(fileURLWithPath: files.key))
            try tls.reload()
            #expect(try await isServed(renewed, number))
            #expect(try await !isServed(old, number))
        }
    }

    /// A plain HTTP request gets a plain HTTP answer, even with a large body.
    @Test(arguments: ["GET", "POST", "PRI"])
    func plainHTTPIsAnsweredInPlainHTTP(_ method: String) async throws {
        let files = try CertificateFiles()
        defer { files.remove() }
        try await withServer(.forDevelopment(), tls: try files.read()) { number in
            let connection = try BareConnection(number)
            let answer = try await connection.ask(
                "\(method) /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000\r\n\r\n"
                    + String(repeating: "x", count: method == "POST" ? 30_000 : 0))
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(answer.lowercased().contains("x-apple-request-uuid: "))
            #expect(answer.contains(#""serverErrorCode":"BAD_REQUEST""#))
            #expect(answer.contains("The plain HTTP request was sent to an HTTPS port"))
            #expect(try await connection.isClosed())
        }
    }

    @Test func mismatchedCertificateAndKeyAreRefused() async throws {
        let one = try CertificateFiles()
        let other = try CertificateFiles(key: Self.strangersKey)
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
    /// The configuration of a client that trusts one certificate.
    fileprivate static func trusting(_ pem: String) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        return configuration
    }
}
