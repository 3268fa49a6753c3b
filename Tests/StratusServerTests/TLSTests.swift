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

/// The server speaks TLS by itself, with a certificate that the test makes.
@Suite struct TLSTests {
    /// A certificate for localhost, signed by itself, and its key.
    private struct Files {
        let folder: URL
        var certificate: String { folder.appendingPathComponent("certificate.pem").path }
        var key: String { folder.appendingPathComponent("key.pem").path }

        init() async throws {
            folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("stratus-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let openssl = Process()
            openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            openssl.arguments = [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
            ]
            openssl.standardError = FileHandle.nullDevice
            try await withCheckedThrowingContinuation { continuation in
                openssl.terminationHandler = { _ in continuation.resume() }
                do {
                    try openssl.run()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            #expect(openssl.terminationStatus == 0)
        }

        func remove() {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func aClientThatTrustsTheCertificateIsServed() async throws {
        let files = try await Files()
        defer { files.remove() }
        let service = CloudService(
            storehouse: MemoryStorehouse(), settings: ServiceSettings(isForDevelopment: true))
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0,
            tls: TLSFiles(certificatePath: files.certificate, keyPath: files.key),
            logger: Logger(label: "test"), makeUUID: { UUID().uuidString },
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

    @Test func filesThatDoNotBelongTogetherAreRefusedAtTheStart() async throws {
        let one = try await Files()
        let other = try await Files()
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
