import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire
import Synchronization

/// The one place where an error of a lower layer becomes the protocol's.
final class ErrorTranslation: Sendable {
    private let logger: Logger
    private let hasStopped = Atomic(false)
    /// Damaged rows, with their files, and unusable files of assets that were logged.
    private let reported = Mutex(LRUCache<String, Bool>(capacity: 1_000))
    private let fatalErrorHandler = Mutex<(@Sendable (StorageError) -> Void)?>(nil)

    init(logger: Logger) {
        self.logger = logger
    }

    /// Sets the handler for errors of the store that only an operator can resolve.
    func onFatalStorageError(_ handler: @escaping @Sendable (StorageError) -> Void) {
        fatalErrorHandler.withLock { $0 = handler }
    }

    /// - Parameter place: The request's endpoint and address, for the log.
    func failure(from error: any Error, in place: String? = nil) -> RequestFailure {
        switch error {
        case let failure as RequestFailure:
            return failure
        case let error as ServiceError:
            return RequestFailure(error)
        case let error as WireError:
            return RequestFailure(.invalid(error))
        case is CancellationError:
            return RequestFailure(.cancelled)
        case let error as StorageError:
            return RequestFailure(refusal(for: error))
        default:
            logger.error(
                "An operation failed with an unexpected error; it was answered with INTERNAL_ERROR.",
                metadata: ["error": "\(String(reflecting: error))", "request": "\(place ?? "-")"])
            return RequestFailure(
                ServiceError(.internalError, "The service failed on this operation; try again."))
        }
    }

    /// Whether an error stopped the service.
    var isStopped: Bool { hasStopped.load(ordering: .relaxed) }

    private func refusal(for error: StorageError) -> ServiceError {
        // An overloaded store needs no operator, and the storage itself has logged once what is wrong with a file or
        // the disk.
        let row = error.damagedRow.map {
            "\($0.kind) \($0.zone.map { $0 + "/" } ?? "")\($0.name)"
        }
        let isKnown =
            if let row {
                isReported(row + " " + (error.path ?? ""))
            } else if error.database == nil, error.code == .other, let path = error.path {
                isReported(error.message + " " + path)
            } else {
                error.database != nil || [.busy, .diskFull, .assetDiskFull].contains(error.code)
            }
        logger.log(
            level: isKnown ? .debug : .error, "The store reported an error.",
            metadata: [
                "code": "\(error.code.rawValue)", "message": "\(error.message)",
                "path": "\(error.path ?? "-")", "row": "\(row ?? "-")",
            ])
        if error.database != nil { return .databaseDamaged }
        if [.diskFull, .assetDiskFull].contains(error.code) { return .diskFull }
        if error.stopsService {
            hasStopped.store(true, ordering: .relaxed)
            fatalErrorHandler.withLock { $0 }?(error)
        }
        return .storeUnavailable
    }

    /// Whether a damaged row or an unusable file was logged already: a device asks for it again and again.
    private func isReported(_ fault: String) -> Bool {
        reported.withLock { reported in
            defer { reported[fault] = true }
            return reported[fault] != nil
        }
    }

    /// Runs some work, and translates any error into the protocol's.
    func translating<Outcome>(
        _ work: () async throws -> Outcome
    ) async throws(RequestFailure) -> Outcome {
        do {
            return try await work()
        } catch {
            throw failure(from: error)
        }
    }
}
