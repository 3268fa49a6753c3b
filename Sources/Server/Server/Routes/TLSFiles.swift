import NIOSSL
import Synchronization

/// The certificate and key with which a server speaks TLS, 1.2 at least. They can be read again while it
/// runs; connections that are open keep what they began with.
public final class TLSFiles: Sendable {
    /// What a client offers that speaks HTTP/2 (RFC 9113).
    static let http2 = "h2"

    private let certificatePath: String
    private let keyPath: String
    private let current: Mutex<NIOSSLContext>

    /// A certificate or key that cannot be used.
    public struct Unusable: Error {
        /// A sentence that says what to do.
        public var message: String
        public var path: String
        public var cause: any Error
    }

    /// Reads both files, in PEM; the certificate's may have the whole chain.
    ///
    /// - Throws: ``Unusable``.
    public init(certificatePath: String, keyPath: String) throws {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        current = Mutex(try Self.read(certificatePath, keyPath))
    }

    /// What new connections speak TLS with.
    var context: NIOSSLContext { current.withLock { $0 } }

    /// Reads the files again, for the connections that come.
    ///
    /// - Throws: ``Unusable``; then what was read before stays.
    public func reload() throws {
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
                    "The file has no certificate in PEM; give one.", path: certificatePath,
                cause: error)
        }
        do {
            let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = [http2, "http/1.1"]
            // Says now, and not at the first connection, whether the key is the certificate's.
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Unusable(
                message:
                    "The file has not the certificate's key in PEM without a password;"
                    + " give that.",
                path: keyPath, cause: error)
        }
    }
}
