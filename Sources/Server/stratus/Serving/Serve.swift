import ArgumentParser
import CoreMetrics
import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import StratusRecords
import StratusRuntime
import StratusServer
import StratusService
import StratusStorage
import Synchronization

/// `stratus serve`: runs the service until it is stopped.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service.",
        discussion: """
            Print "listening on http://HOST:PORT" once requests are taken, answer GET /health, and \
            stop cleanly on SIGTERM and SIGINT: finish requests under way, end long polls, close files.
            """)

    @Flag(help: "Create containers, users and record types on first use. Never for real data.")
    var dev = false

    @Flag(
        help:
            "Let --dev listen on addresses other than loopback; everyone who can reach it can sign in as any user."
    )
    var devAnywhere = false

    @Option(help: "The address to listen on; 0.0.0.0 listens on all addresses.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 chooses a free port.")
    var port = 8080

    @Option(
        help: ArgumentHelp(
            "The data folder; created if it does not exist.", valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "The service's address as clients see it, if there is a proxy in front of it.",
            valueName: "url"))
    var publicURL: String?

    @Option(
        help: ArgumentHelp(
            """
            A file with a token: anyone who sends it as a bearer token may read /metrics from \
            other machines. Without it only this machine's own programs may.
            """, valueName: "file"))
    var metricsToken: String?

    @Option(
        name: .customLong("host-name"), parsing: .singleValue,
        help: ArgumentHelp(
            """
            A name by which clients call the service, in addition to the address that it listens \
            on; may be given more than once. Not needed with --public-url.
            """, valueName: "name"))
    var hostNames: [String] = []

    @Option(
        help: ArgumentHelp(
            "The proxies whose X-Forwarded-For is trusted, as networks with commas between them.",
            valueName: "cidr,…"))
    var trustedProxies: String?

    @Option(
        name: .customLong("limit"), parsing: .singleValue,
        help: ArgumentHelp(
            "Set a limit; may be given more than once. `stratus limits` lists them.",
            valueName: "name=value"))
    var limitAssignments: [String] = []

    @Option(
        help: """
            Who may make an account on the sign-up page: open, or closed, so that only \
            `stratus user create` makes them. The default is closed; with --dev it is open.
            """)
    var signUp: AccountSettings.SignUp?

    @Flag(
        help: """
            Treat e-mail addresses from the sign-up page as verified. The service sends no mail, \
            so anyone can claim any address; without this option use `stratus user verify` to \
            confirm an address.
            """)
    var trustEmails = false

    @Option(
        help: ArgumentHelp(
            "The certificate to speak TLS with, in PEM, with its chain.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The certificate's key, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            """
            A JSON file with the identity providers whose tokens are exchanged for sign-ins; see \
            Operations.md.
            """, valueName: "file"))
    var identityProviders: String?

    @Flag(help: "Keep the data in memory only; it is lost when the service stops.")
    var memory = false

    @Flag(help: "Report the time that each answer took in its Server-Timing header.")
    var serverTiming = false

    @Option(help: "The least level to log: trace, debug, info, notice, warning, error, critical.")
    var logLevel: String = "notice"

    @OptionGroup(title: "Apple's push service")
    var apns: APNsOptions

    /// How long running requests may take once the service is being stopped, in seconds: less than the ten after which
    /// containers are killed.
    private static let stopSeconds = 5

    func validate() throws {
        guard !(memory && data != nil) else {
            throw ValidationError("--data and --memory are both given; give one of them.")
        }
        _ = try limits()
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError(
                "Only one of --tls-certificate and --tls-key is given; give both, or"
                    + " neither.")
        }
        _ = try proxies()
        if let publicURL, !WebOrigin.isOrigin(publicURL) {
            throw ValidationError(
                """
                --public-url \(publicURL) is not an origin as browsers write it; give a scheme, a host \
                and perhaps a port other than the scheme's own, such as https://cloud.example.org, in \
                lower case and without a path or a slash at the end.
                """)
        }
        guard !dev || devAnywhere || ServiceNames.isLoopback(host) else {
            throw ValidationError(
                """
                --host \(host) is not loopback, and with --dev everyone who can reach the service may \
                sign in as any user; give --dev-anywhere if that is what you want.
                """)
        }
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port \(port) is not from 0 to 65535; give such a number.")
        }
        guard Logger.Level(rawValue: logLevel) != nil else {
            throw ValidationError(
                "There is no log level \(logLevel); give trace, debug, info, notice, warning, error"
                    + " or critical.")
        }
    }

    func run() async throws {
        var logger = Logger(label: "stratus") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Logger.Level(rawValue: logLevel) ?? .notice
        Self.raiseFileLimit()
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        let tls = try readTLSFiles()
        if publicURL != nil, tls == nil, trustedProxies == nil {
            logger.warning(
                """
                --public-url is given without TLS, so there seems to be a proxy in front of this \
                service, and all requests count as the proxy's; give --trusted-proxies to count them \
                per sender.
                """)
        }
        var settings = ServiceSettings(
            isForDevelopment: dev, limits: try limits(), isThrottled: true)
        settings.accounts = AccountSettings(
            signUp: signUp ?? (dev ? .open : .closed), trustsEmailAddresses: trustEmails,
            identityProviders: try identityProviders.map(IdentityProviderFile.read) ?? [])
        // One processor is left for light requests.
        settings.heavyThreads = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
        let storage: SQLiteStorageEngine
        do {
            storage = try openStorageEngine(logger)
        } catch let error as StorageError {
            throw OneSentence(error)
        }
        let stop = StopReason()
        settings.pushDelivery = try apns.delivery()
        let service = CloudService(storage: storage, settings: settings)
        service.onFatalStorageError { stop.report($0) }
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        if let tls { services.append(.init(service: await TLSReload(tls, logger))) }
        var configuration = ServiceGroupConfiguration(
            services: services + [
                .init(service: OutboxLifecycle(service: service, logger: logger)),
                .init(service: try makeServer(service, tls, metrics, logger)),
                .init(service: AssetCollectionLifecycle(service: service)),
                .init(service: ScrubLifecycle(storage: storage, logger: logger)),
                .init(
                    service: StopWatch(reason: stop),
                    successTerminationBehavior: .gracefullyShutdownGroup),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A client that neither finishes its request, nor reads its answer, nor disconnects must not delay the stop.
        configuration.maximumGracefulShutdownDuration = .seconds(Self.stopSeconds)
        let group = ServiceGroup(configuration: configuration)
        do {
            try await group.run()
        } catch is CancellationError {
            // The stop took too long and was cut short. Nothing is lost: everything acknowledged is on the disk.
        } catch {
            throw OneSentence(listeningFailed: error, host: host, port: port) ?? error
        }
        try await storage.close()
        if let error = stop.error { throw OneSentence(error) }
    }

    #if canImport(Glibc)
        private static var files: __rlimit_resource_t {
            __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        }
    #else
        private static var files: Int32 { RLIMIT_NOFILE }
    #endif

    /// How many file descriptors the process may have.
    private static func fileLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return 1_024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Takes as many file descriptors as the system allows: an open database needs five, a waiting device one, and the
    /// usual soft limit of 1,024 is soon reached.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // If it is refused, the service has as many as before.
        _ = setrlimit(files, &limit)
    }

    private func limits() throws -> Limits {
        var limits = dev ? Limits.development : Limits()
        try limits.set(limitAssignments)
        return limits
    }

    private func readMetricsToken() throws -> String? {
        guard let metricsToken else { return nil }
        let text = try readOption("--metrics-token", "The metrics token", in: metricsToken)
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard token.utf8.count >= 16 else {
            throw OneSentence(
                "The metrics token in \(metricsToken) is too short; give it 16 bytes at least.")
        }
        return token
    }

    private func proxies() throws -> TrustedProxies {
        guard let trustedProxies else { return .none }
        guard let proxies = TrustedProxies(trustedProxies) else {
            throw ValidationError(
                "--trusted-proxies \(trustedProxies) contains something that is not a network; give"
                    + " networks such as 10.0.0.0/8,2001:db8::/32.")
        }
        return proxies
    }

    private func openStorageEngine(_ logger: Logger) throws -> SQLiteStorageEngine {
        if memory { return SQLiteStorageEngine.inMemory() }
        let folder = data ?? Self.defaultFolder
        let limits = try self.limits()
        var storageLimits = StorageLimits()
        storageLimits.openDatabases = Self.openDatabases(within: limits)
        storageLimits.reserveBytes = Int64(limits.diskReserveBytes)
        return try SQLiteStorageEngine(folder: folder, limits: storageLimits, logger: logger)
    }

    /// As many databases as there are descriptors for, besides the connections: five for each that is read and written.
    private static func openDatabases(within limits: Limits) -> Int {
        let connections = min(limits.connections, fileLimit() / 2)
        return max(
            min(limits.openDatabases, (fileLimit() - connections) / 5),
            StorageLimits.leastOpenDatabases)
    }

    private func readTLSFiles() throws -> TLSFiles? {
        guard let tlsCertificate, let tlsKey else { return nil }
        do {
            return try TLSFiles(certificatePath: tlsCertificate, keyPath: tlsKey)
        } catch let error as TLSFiles.Unusable {
            throw OneSentence("\(error.message) (\(error.path))")
        }
    }

    private func makeServer(
        _ service: CloudService, _ tls: TLSFiles?, _ metrics: PrometheusMetrics,
        _ logger: Logger
    ) throws -> some ServiceLifecycle.Service {
        let host = host
        let scheme = tls == nil ? "http" : "https"
        return try buildServer(
            service, host: host, port: port, publicOrigin: publicURL, tls: tls,
            trustedProxies: try proxies(), hostNames: hostNames, isDevelopmentOpen: devAnywhere,
            metrics: metrics, metricsToken: try readMetricsToken(),
            tellsTime: serverTiming,
            logger: logger
        ) { port in
            let name = host.contains(":") ? "[\(host)]" : host
            print("listening on \(scheme)://\(name):\(port)")
            StandardOutput.flush()
        }
    }

    static var defaultFolder: String { FileManager.default.currentDirectoryPath + "/stratus-data" }
}

extension AccountSettings.SignUp: ExpressibleByArgument {}

/// Reads the text file that an option names.
///
/// - Parameter subject: What the file has, as the beginning of a sentence.
/// - Throws: ``OneSentence``. The system's reason is left out: the operator must check the file in any case.
func readOption(_ option: String, _ subject: String, in path: String) throws -> String {
    do {
        return try String(contentsOfFile: path, encoding: .utf8)
    } catch {
        throw OneSentence(
            "\(subject) cannot be read: \(path). Check \(option) and the file's permissions.")
    }
}

extension OneSentence {
    init(_ error: StorageError) {
        self.init(error.message + (error.path.map { " (\($0))" } ?? ""))
    }

    /// Why the server cannot listen on an address; nil when it failed otherwise.
    init?(listeningFailed error: any Error, host: String, port: Int) {
        let isUnknown = error is SocketAddressError.UnknownHost
        guard let number = isUnknown ? EADDRNOTAVAIL : (error as? IOError)?.errnoCode else {
            return nil
        }
        let reason =
            switch number {
            case EADDRINUSE: "Another program listens there already; take another --port, or 0."
            case EACCES: "The system does not let this user listen there; take a port from 1024 on."
            case EADDRNOTAVAIL: "This machine has no such address; take another --host."
            default: "The system refused it (errno \(number)); check --host and --port."
            }
        self.init("Cannot listen on \(host):\(port). \(reason)")
    }
}

/// Why the service must stop by itself, once there is a reason.
final class StopReason: Sendable {
    private let first = Mutex<StorageError?>(nil)
    /// Ends when there is a reason to stop, or when the service stops for another reason.
    private let running = AsyncStream<Never>.makeStream()

    var error: StorageError? { first.withLock { $0 } }

    func report(_ error: StorageError) {
        first.withLock { $0 = $0 ?? error }
        running.continuation.finish()
    }

    func wait() async {
        for await _ in running.stream {}
    }

    fileprivate func release() {
        running.continuation.finish()
    }
}

/// Ends the service group when there is a reason to stop.
private struct StopWatch: ServiceLifecycle.Service {
    let reason: StopReason

    func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await reason.wait()
        } onCancelOrGracefulShutdown: {
            reason.release()
        }
    }
}
