import StratusClient
import StratusRuntime

extension CloudMapping {
    /// Pauses between attempts while there is no connection, in seconds: the first, and the longest.
    static let recoverySeconds = (first: 5.0, longest: 300.0)

    /// Syncs at once what failed without a connection: call it when the system reports that the
    /// network is back. Otherwise a full sync is tried at intervals until one succeeds.
    public func networkIsBack() async throws {
        state.withLock { $0.recovery.take() }?.cancel()
        try await syncEntities()
    }

    /// Schedules a full sync for when the service can be reached again.
    func recover(from error: any Error) {
        // An object may have been saved without an object that it refers to.
        let cause = (error as? MappingError)?.cause ?? error
        guard let error = cause as? CKError, error.mayPass else { return }
        state.withLock { state in
            guard state.recovery == nil else {
                // The sync of the recovery may have passed the object already.
                state.laterFailure = error
                return
            }
            log.debug("no connection; syncing again later", metadata: ["error": "\(error)"])
            state.recovery = CurrentWork.$current.withValue(nil) {
                world.startTask("mapping recovery") { [weak self, world] in
                    var backoff = Backoff(
                        firstSeconds: Self.recoverySeconds.first,
                        longestSeconds: Self.recoverySeconds.longest)
                    var failure = error
                    while true {
                        let pause = backoff.nextSeconds(random: world.random())
                        let seconds = max(failure.longestRetryAfterSeconds ?? 0, pause)
                        // Only cancellation cuts the pause short. Nothing holds the mapping meanwhile: one that the app
                        // has dropped does not sync any more.
                        do { try await world.sleep(seconds) } catch { return }
                        guard let next = await self?.tryAgain() else { return }
                        failure = next
                    }
                }
            }
        }
    }

    /// Syncs, for the recovery.
    ///
    /// - Returns: the failure after which another sync is needed; nil when the recovery has ended.
    private func tryAgain() async -> CKError? {
        do {
            state.withLock { $0.laterFailure = nil }
            try await syncEntities()
            return endRecovery()
        } catch let error as CKError where error.mayPass {
            return Task.isCancelled ? nil : error
        } catch {
            // Another attempt would fail in the same way, and no caller gets the error: it is logged.
            return endRecovery(after: error)
        }
    }

    /// Ends the recovery after its sync, unless something failed meanwhile.
    ///
    /// - Parameter error: why the sync failed, if it did.
    /// - Returns: the failure after which another sync is needed.
    private func endRecovery(after error: (any Error)? = nil) -> CKError? {
        state.withLock { state in
            // `networkIsBack()` has ended it.
            guard !Task.isCancelled else { return nil }
            guard state.laterFailure == nil else { return state.laterFailure }
            if let error {
                log.error(
                    "the sync after a lost connection failed and is not repeated; sync again once the cause is removed",
                    metadata: ["error": "\(error)"])
            } else {
                log.debug("connection recovered")
            }
            state.recovery = nil
            return nil
        }
    }
}
