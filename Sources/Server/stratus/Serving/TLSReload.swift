import Logging
import ServiceLifecycle
import StratusServer
import UnixSignals

/// Reads the certificate and key again when the process gets SIGHUP, as a renewed certificate needs.
struct TLSReload: ServiceLifecycle.Service {
    private let tls: TLSFiles
    private let logger: Logger
    private let signals: UnixSignalsSequence

    /// After this, SIGHUP does not end the process.
    init(_ tls: TLSFiles, _ logger: Logger) async {
        self.tls = tls
        self.logger = logger
        signals = await UnixSignalsSequence(trapping: .sighup)
    }

    func run() async {
        for await _ in signals.cancelOnGracefulShutdown() {
            do {
                try tls.reload()
                logger.notice("The certificate and its key were read again.")
            } catch let error as TLSFiles.Unusable {
                logger.error(
                    "\(error.message) The old certificate and key stay in use until SIGHUP is sent again.",
                    metadata: ["path": "\(error.path)"])
            } catch {
                // Reading throws no other errors; if it did, the old ones would stay in use as well.
                logger.error(
                    "The certificate or its key could not be read; the old ones stay in use.",
                    metadata: ["error": "\(error)"])
            }
        }
    }
}
