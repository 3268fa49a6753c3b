import StratusRecords

extension RecoveryAction {
    /// The recovery action for a request, where the app handles errors that a retry does not
    /// resolve.
    ///
    /// The retried errors are those of `CKSyncEngine`, and `serverResponseLost`: it is unknown
    /// whether the request was served, and most apps would lose a change that is reported as
    /// failed. After `limitExceeded` the batch is halved, because only the session knows its size.
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

    /// The recovery action for one item, where the app handles errors that a retry does not
    /// resolve.
    public static func forReportingItem(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch forReportingRequest(code) {
        case .split, .refetch: .report
        case let recovery: recovery
        }
    }

    /// Whether the session retries without the app.
    package var isRetry: Bool {
        switch self {
        case .awaitNetwork, .slowDown, .requeue: true
        default: false
        }
    }
}
