import StratusRecords

/// How the sync layer recovers from an error: one table for all codes.
///
/// A code can concern the whole request or one item of it: see ``forRequest(_:)``, and
/// ``forSave(_:)``, ``forUpload(_:)``,
/// ``forDelete(_:)`` and ``forZone(_:)``.
public enum RecoveryAction: Hashable, Sendable {
    /// Retry with backoff without limit: the network is missing.
    case awaitNetwork
    /// Retry with backoff, obey retry-after, count the retry.
    case slowDown
    /// Keep the queue, notify the app, retry at long intervals.
    case awaitQuota
    /// Halve the batch.
    case split
    /// Pass ancestor, client and server record to the resolver; send again.
    case resolveConflict
    /// Make it pending again, without counting an attempt.
    case requeue
    /// The record was deleted elsewhere: ask the resolver about the local edit.
    case decideDeletion
    /// Confirm the change: the requested state exists already.
    case confirm
    /// The zone is missing: find out whether it was deleted; if not, create it and requeue.
    case recreateZone
    /// The person removed the app's data in the settings: notify the app, follow the policy.
    case purgeZone
    /// Drop the change token, fetch in full, reconcile deletions by comparison.
    case refetch
    /// Halt until the account is available again; the queue is kept.
    case awaitAccount
    /// Halt with the error as the reason.
    case halt
    /// Add the item to the list that needs attention, with its error; continue with the others.
    case setAside
    /// Retry up to the limit, an item after all others; then set the item aside or halt the
    /// session.
    case retryWithinBound
    /// Remove it from the queue and report it to the app, which must handle it.
    case report
}

extension RecoveryAction {
    /// The recovery action when the whole request failed.
    public static func forRequest(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: .awaitNetwork
        case .serviceUnavailable, .requestRateLimited, .zoneBusy: .slowDown
        case .limitExceeded: .split
        case .quotaExceeded: .awaitQuota
        case .notAuthenticated, .accountTemporarilyUnavailable: .awaitAccount
        case .badContainer, .badDatabase, .missingEntitlement, .permissionFailure,
            .incompatibleVersion, .managedAccountRestricted, .invalidArguments:
            .halt
        case .changeTokenExpired: .refetch
        case .zoneNotFound: .recreateZone
        case .userDeletedZone: .purgeZone
        case .batchRequestFailed, .partialFailure, .serverRecordChanged, .unknownItem,
            .operationCancelled, .internalError, .resultsTruncated, .serverRejectedRequest,
            .constraintViolation, .referenceViolation, .assetFileNotFound, .assetFileModified,
            .assetNotAvailable, .participantMayNeedVerification, .alreadyShared,
            .tooManyParticipants, .participantAlreadyInvited:
            .retryWithinBound
        @unknown default: .retryWithinBound
        }
    }

    /// The recovery action when one record of a request could not be saved.
    public static func forSave(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        case .serverRecordChanged: .resolveConflict
        case .batchRequestFailed, .operationCancelled: .requeue
        case .unknownItem: .decideDeletion
        case .invalidArguments, .constraintViolation, .permissionFailure,
            .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .assetNotAvailable,
            .limitExceeded, .participantMayNeedVerification, .alreadyShared,
            .tooManyParticipants, .participantAlreadyInvited:
            .setAside
        // The record that a reference needs may be in a later batch.
        case .changeTokenExpired, .partialFailure, .referenceViolation: .retryWithinBound
        default: forRequest(code)
        }
    }

    /// The recovery action when a file of a record could not be uploaded.
    public static func forUpload(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        // The upload is unknown, such as after it expired; this says nothing about the record.
        case .unknownItem: .retryWithinBound
        default: forSave(code)
        }
    }

    /// The recovery action when one record of a request could not be deleted.
    public static func forDelete(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        // The record is already deleted, alone or with its zone.
        case .unknownItem, .zoneNotFound, .userDeletedZone: .confirm
        default: forSave(code)
        }
    }

    /// The recovery action when one zone of a request could not be created or deleted.
    public static func forZone(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        case .zoneNotFound, .userDeletedZone: .confirm
        case .batchRequestFailed, .operationCancelled: .requeue
        // An invalid zone does not stop the others.
        case .invalidArguments, .permissionFailure, .badDatabase, .limitExceeded,
            .constraintViolation, .serverRejectedRequest:
            .setAside
        default: forRequest(code)
        }
    }
}
