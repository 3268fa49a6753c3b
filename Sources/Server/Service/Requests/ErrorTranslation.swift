import Logging
import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// The one place where an error from below becomes the protocol's.
final class ErrorTranslation: Sendable {
    private let logger: Logger
    private let fatalErrorHandler = Mutex<(@Sendable (StorageError) -> Void)?>(nil)

    init(logger: Logger) {
        self.logger = logger
    }

    /// Says whom to tell when the store needs a person.
    func onFatalStorageError(_ handler: @escaping @Sendable (StorageError) -> Void) {
        fatalErrorHandler.withLock { $0 = handler }
    }

    func failure(from error: any Error) -> RequestFailure {
        switch error {
        case let failure as RequestFailure:
            return failure
        case let error as ServiceError:
            return RequestFailure(error)
        case let error as WireError:
            return RequestFailure(.invalid(error.reason))
        case is CancellationError:
            return RequestFailure(.cancelled)
        case let error as StorageError where error.damagedRow != nil:
            return damagedRow(error)
        case let error as StorageError:
            // A store that has too much to do needs no person.
            logger.log(
                level: error.code == .busy ? .debug : .error,
                "The store could not do what it was asked.",
                metadata: ["code": "\(error.code.rawValue)", "message": "\(error.message)"])
            if error.stopsService {
                fatalErrorHandler.withLock { $0 }?(error)
            }
            return RequestFailure(.storeUnavailable)
        default:
            logger.error(
                "An error was not foreseen.", metadata: ["type": "\(type(of: error))"])
            return RequestFailure(ServiceError(.internalError, "The service met an error."))
        }
    }

    /// One row is damaged and the others are not: asking again does not help, and nothing needs to stop.
    private func damagedRow(_ error: StorageError) -> RequestFailure {
        logger.error(
            "A stored row is damaged: its checksum does not match.",
            metadata: [
                "path": "\(error.path ?? "")", "kind": "\(error.damagedRow?.kind ?? "")",
                "zone": "\(error.damagedRow?.zone ?? "")",
                "name": "\(error.damagedRow?.name ?? "")",
            ])
        return RequestFailure(
            ServiceError(.internalError, "What is stored is damaged here. Tell the operator."))
    }

    /// Does something, and throws the protocol's error for whatever goes wrong.
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
