import StratusRecords
import StratusSync

/// Cancels requests that were not answered ([decision 33](../../../../Documentation/Decisions/0033-late-requests.md)).
extension SyncDriver {
    func newOperation() -> SentOperation {
        SentOperation(id: world.makeUUID().uuidString, deviceID: remote.deviceID)
    }

    /// Cancels the requests that were not answered, so that they cannot change what is fetched from now on.
    func cancelUnanswered() async throws {
        while true {
            let operations = try store.unansweredOperations()
            guard !operations.isEmpty else { return }
            do {
                try await remote.cancel(operations)
            } catch let failure as SyncFailure where failure.forbidsCancelling {
                // Syncing continues: late requests are then carried out, as with a service that has no cancellation.
                log.note(.warning, "requestsNotCancelled", ["code": "\(failure.code)"])
            }
            try store.endOperations(operations.map(\.id))
        }
    }
}

extension SyncFailure {
    /// Whether the service, or a proxy in front of it, will never accept a cancellation.
    fileprivate var forbidsCancelling: Bool {
        switch code {
        case .unknownItem, .serverRejectedRequest, .limitExceeded: true
        default: RecoveryAction.forRequest(code) == .halt
        }
    }
}
