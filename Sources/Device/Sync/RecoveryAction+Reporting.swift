import StratusRecords

extension RecoveryAction {
    /// The recovery for a request where the app deals with whatever no retry cures.
    ///
    /// The retry list is `CKSyncEngine`'s own, and `serverResponseLost`: nobody knows whether the
    /// request was served, and a change that is told as failed would be lost in most apps.
    /// `limitExceeded` is halved, as only the session knows how much went into the request.
    public static func forReportingRequest(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: .awaitNetwork
        case .serviceUnavailable, .requestRateLimited, .zoneBusy, .notAuthenticated,
            .accountTemporarilyUnavailable:
            .slowDown
        case .operationCancelled: .requeue
        case .limitExceeded: .split
        case .changeTokenExpired: .refetch
        default: .report
        }
    }

    /// The recovery for one item where the app deals with whatever no retry cures.
    public static func forReportingItem(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch forReportingRequest(code) {
        case .split, .refetch: .report
        case let recovery: recovery
        }
    }

    /// Whether the session tries again by itself, without the app.
    package var isRetry: Bool {
        switch self {
        case .awaitNetwork, .slowDown, .requeue: true
        default: false
        }
    }
}
