import NIOSSL
import Synchronization

/// The certificate and key for a server's TLS, at least 1.2. They can be reloaded while the server runs; open
/// connections keep the old ones.
package final class TLSFiles: Sendable {
    /// The protocol name by which a client offers HTTP/2 (RFC 9113).
    static let http2 = "h2"

    private let certificatePath: String
    private let keyPath: String
    private let current: Mutex<NIOSSLContext>

    /// A certificate or key that cannot be used.
    package struct Unusable: Error {
        /// A sentence that says what to do.
        package var message: String
        package var path: String
        package var cause: any Error
    }

    /// Reads both files, in PEM; the certificate's file may contain the whole chain.
    ///
    /// - Throws: ``Unusable``.
    package init(certificatePath: String, keyPath: String) throws {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        current = Mutex(try Self.read(certificatePath, keyPath))
    }

    /// The TLS context of new connections.
    var context: NIOSSLContext { current.withLock { $0 } }

    /// Reads the files again, for new connections.
    ///
    /// - Throws: ``Unusable``; then the previous ones stay in use.
    package func reload() throws {
        let new = try Self.read(certificatePath, keyPath)
        current.withLock { $0 = new }
    }

    private static func read(_ certificatePath: String, _ keyPath: String) throws -> NIOSSLContext {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificatePath)
        } catch {
            throw Unusable(
                message:
                    "The file has no certificate in PEM; give one that has.", path: certificatePath,
                cause: error)
        }
        do {
            let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = [http2, "http/1.1"]
            // Checks now, and not at the first connection, whether the key belongs to the certificate.
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Unusable(
                message:
                    "The file does not have the certificate's key in PEM without a password; export"
                    + " the key in that form.",
                path: keyPath, cause: error)
        }
    }
}
