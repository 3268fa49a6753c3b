import StratusSync
import Tracing

/// Logs and traces operations, and notes the account's state.
extension SyncDriver {
    /// Performs an operation in a span of swift-distributed-tracing, and notes how it ended.
    func performLogged(_ operation: SyncOperation) async {
        let began = now
        operationNotes = [:]
        await withSpan("stratus.cache.\(operation.kindName)", ofKind: .client) { span in
            span.attributes["stratus.database"] = store.scope.rawValue
            await perform(operation)
            for (key, value) in operationNotes { span.attributes["stratus.\(key)"] = value }
            if session.lastOperation == operation, let failure = failureOfLastOperation {
                span.recordError(failure)
                span.setStatus(SpanStatus(code: .error, message: "\(failure.code)"))
            }
        }
        var details = operationNotes
        details["operation"] = operation.summary
        details["milliseconds"] = "\(Int(((now - began) * 1_000).rounded()))"
        guard let failure = failureOfLastOperation else {
            log.note(.debug, "operation", details)
            return
        }
        details["code"] = "\(failure.code)"
        details["message"] = failure.message
        details["retry"] = "\(session.retryCount)"
        details["pauseSeconds"] = "\(session.delaySeconds)"
        // Repeated failures without a network are logged at debug level; the status says that the
        // device is offline.
        let isOffline = RecoveryAction.forRequest(failure.code) == .awaitNetwork
        let isFirst = !isOffline && session.retryCount <= 1
        log.note(isFirst ? .warning : .debug, "failed", details, isFailure: true)
    }

    private var failureOfLastOperation: SyncFailure? {
        isStorageFull ? nil : session.lastFailure
    }

    /// Stores the account's state if an answer shows a change.
    func noteAccount(_ account: CacheAccount) {
        do {
            guard try store.noteAccount(account) else { return }
            log.note(account == .available ? .debug : .warning, "account", ["is": account.rawValue])
        } catch {
            // Logged. The next answer repeats it, and the operation itself fails on the same file.
            log.note(.warning, "account", ["is": account.rawValue, "notKept": "\(error)"])
        }
    }
}

extension CacheStore {
    /// - Returns: whether it changed.
    func noteAccount(_ account: CacheAccount) throws -> Bool {
        guard try read({ try flag(.account, $0) }) != account.rawValue else { return false }
        try file.write { try setFlag(.account, account.rawValue, $0) }
        return true
    }
}
