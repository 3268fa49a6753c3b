import AsyncHTTPClient
import Foundation
import NIOSSL
import StratusRecords
import Synchronization

extension HTTPTransport {
    /// How a service is reached: which certificates are trusted, and which proxy is used.
    ///
    /// By default it is read from the environment variables that curl uses:
    ///
    /// | variable | meaning |
    /// | --- | --- |
    /// | `SSL_CERT_FILE` | a file of certificates (PEM) that are trusted in place of the system's |
    /// | `https_proxy`, `HTTPS_PROXY` | the proxy for `https` addresses, such as `http://proxy.example.org:3128` |
    /// | `http_proxy` | the proxy for `http` addresses |
    /// | `no_proxy`, `NO_PROXY` | hosts that are reached without one: domain names, which include all of their
    /// subdomains, or `*` |
    ///
    /// Loopback addresses are always reached without a proxy. Requests go through the proxy with
    /// `CONNECT`, for `http` too.
    ///
    /// ```swift
    /// var network = HTTPTransport.Network()
    /// try network.trust(certificatesPEM: ownAuthority)
    /// let transport = HTTPTransport(
    ///     origin: "https://cloud.example.org", credentials: credentials, deviceID: "phone",
    ///     network: network)
    /// ```
    public struct Network: Hashable, Sendable {
        /// A file of certificates (PEM) that are trusted in place of the system's.
        public var certificateFile: String?
        /// The address of the proxy for `https` addresses; nil means no proxy.
        public var httpsProxy: String?
        /// The address of the proxy for `http` addresses; nil means no proxy.
        public var httpProxy: String?
        /// The hosts that are reached without a proxy.
        public var hostsWithoutProxy: [String]
        private var trusted: [NIOSSLCertificate] = []

        /// Reads the settings from environment variables; an empty one counts as not set.
        ///
        /// The lower-case name of a variable has precedence. `HTTP_PROXY` in capitals is not read.
        ///
        /// - Parameter environmentVariables: the process's own by default; pass an empty dictionary for the system's
        ///   certificates and no proxy.
        public init(
            environmentVariables: [String: String] = ProcessInfo.processInfo.environment
        ) {
            func value(_ names: String...) -> String? {
                names.lazy.compactMap { environmentVariables[$0] }.first { !$0.isEmpty }
            }
            certificateFile = value("SSL_CERT_FILE")
            httpsProxy = value("https_proxy", "HTTPS_PROXY")
            // `HTTP_PROXY` is not read: in a CGI process a request's `Proxy` header could set it.
            httpProxy = value("http_proxy")
            hostsWithoutProxy = (value("no_proxy", "NO_PROXY") ?? "").split(separator: ",")
                .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        }

        /// Trusts additional certificates, such as those of an organisation's own authority.
        ///
        /// - Parameter certificatesPEM: one or several in the text form that begins with
        ///   `-----BEGIN CERTIFICATE-----`.
        /// - Throws: `CKError.invalidArguments` when it contains none.
        public mutating func trust(certificatesPEM: String) throws {
            do {
                trusted += try NIOSSLCertificate.fromPEMBytes(Array(certificatesPEM.utf8))
            } catch {
                throw CKError(
                    .invalidArguments,
                    "The certificates are not PEM; give text that begins with -----BEGIN CERTIFICATE-----.",
                    cause: error)
            }
        }
    }

    /// The HTTP client with which the service is reached.
    ///
    /// - Throws: ``TransportError`` when the configuration is invalid.
    var client: HTTPClient {
        get throws { try network.client(for: origin) }
    }
}

extension HTTPTransport.Network {
    private struct Configuration: Hashable {
        var certificateFile: String?
        var trusted: [NIOSSLCertificate]
        var proxy: HTTPClient.Configuration.Proxy?
    }

    /// The HTTP clients by configuration. They live as long as the process, so that they need not be shut down;
    /// transports of the same configuration share a client and its open connections.
    private static let clients = Mutex<[Configuration: HTTPClient]>([:])

    fileprivate func client(for origin: String) throws -> HTTPClient {
        let configuration = Configuration(
            certificateFile: certificateFile, trusted: trusted, proxy: try proxy(for: origin))
        if let certificateFile, !FileManager.default.isReadableFile(atPath: certificateFile) {
            throw TransportError(
                .notConfigured,
                "The file that SSL_CERT_FILE names has no certificates that can be"
                    + " read; correct it.",
                address: certificateFile)
        }
        return Self.clients.withLock { clients in
            if let client = clients[configuration] { return client }
            let client = Self.client(configuration)
            clients[configuration] = client
            return client
        }
    }

    /// Makes a client that does not wait for a service that is not listening: retrying is up to the caller.
    private static func client(_ network: Configuration) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        configuration.proxy = network.proxy
        // A small answer that inflates beyond the largest answer is a decompression bomb.
        configuration.decompression = .enabled(
            limit: .size(HTTPTransport.maximumAnswerBytes))
        if network.certificateFile != nil || !network.trusted.isEmpty {
            var tls = TLSConfiguration.makeClientConfiguration()
            if let file = network.certificateFile { tls.trustRoots = .file(file) }
            tls.additionalTrustRoots = [.certificates(network.trusted)]
            configuration.tlsConfiguration = tls
        }
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// The proxy for a service; nil if none is used.
    func proxy(for origin: String) throws -> HTTPClient.Configuration.Proxy? {
        guard let url = URL(string: origin), let host = url.host?.lowercased() else { return nil }
        guard let text = url.scheme == "https" ? httpsProxy : httpProxy, isReachedByProxy(host)
        else { return nil }
        guard let proxy = URL(string: text.contains("://") ? text : "http://" + text),
            proxy.scheme == "http", let proxyHost = proxy.host
        else {
            throw TransportError(
                .notConfigured,
                "The proxy's address is not valid; set one such as http://proxy.example.org:3128.",
                address: text)
        }
        let authorization = proxy.user.map {
            HTTPClient.Authorization.basic(username: $0, password: proxy.password ?? "")
        }
        return .server(host: proxyHost, port: proxy.port ?? 80, authorization: authorization)
    }

    /// Whether a host is this machine, reached without a network.
    static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.")
    }

    private func isReachedByProxy(_ host: String) -> Bool {
        if Self.isLoopback(host) { return false }
        return !hostsWithoutProxy.contains { name in
            let name = name.hasPrefix(".") ? String(name.dropFirst()) : name
            return name == "*" || host == name || host.hasSuffix("." + name)
        }
    }
}
