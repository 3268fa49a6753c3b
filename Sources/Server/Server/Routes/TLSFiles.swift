import NIOSSL

/// The certificate and key with which a server speaks TLS, 1.2 at least.
public struct TLSFiles: Sendable {
    let configuration: TLSConfiguration

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
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificatePath)
        } catch {
            throw Unusable(
                message: "Give a certificate in PEM.", path: certificatePath, cause: error)
        }
        do {
            let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            // Says now, and not at the first connection, whether the key is the certificate's.
            _ = try NIOSSLContext(configuration: configuration)
            self.configuration = configuration
        } catch {
            throw Unusable(
                message: "Give the certificate's own key in PEM, without a password.",
                path: keyPath, cause: error)
        }
    }
}
