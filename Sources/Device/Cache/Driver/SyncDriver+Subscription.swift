import StratusRecords
import StratusSync

extension SyncDriver {
    /// Saves the database's subscription, or checks that it still exists.
    func saveSubscription() async throws {
        let wasSaved = try store.isSubscriptionSaved()
        do {
            if try await remote.saveSubscription(wasSaved: wasSaved) {
                try store.subscriptionSaved()
                return session.subscriptionSaved(at: now)
            }
        } catch let failure as SyncFailure where wasSaved && !failure.isTransient {
            // Syncing continues, because the subscription may exist; it is checked again later.
            log.note(.warning, "subscriptionNotChecked", ["code": "\(failure.code)"])
        }
        session.subscriptionFound(at: now)
    }
}

extension SyncFailure {
    /// Whether the same request may succeed soon.
    fileprivate var isTransient: Bool {
        switch RecoveryAction.forRequest(code) {
        case .awaitNetwork, .slowDown, .awaitAccount: true
        default: false
        }
    }
}
