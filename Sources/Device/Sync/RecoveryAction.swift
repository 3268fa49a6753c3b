import StratusRecords

/// What the sync layer does about an error: one table for all codes.
///
/// The same code can mean the whole request or one item of it; ``forRequest(_:)`` and
/// ``forSave(_:)``, ``forDelete(_:)`` and ``forZone(_:)`` tell which.
public enum RecoveryAction: Hashable, Sendable {
    /// Retry with backoff for as long as it takes; the network is to blame.
    case awaitNetwork
    /// Retry with backoff, obey retry-after, count the retry.
    case slowDown
    /// Keep the queue, tell the app, retry seldom.
    case awaitQuota
    /// Halve the batch.
    case split
    /// Give ancestor, client and server record to the resolver; send again.
    case resolveConflict
    /// Back to pending, as it was, at no charge.
    case requeue
    /// The record was deleted elsewhere: ask the resolver what becomes of the local edit.
    case decideDeletion
    /// What was asked for is already so.
    case confirm
    /// The zone is missing: find out whether somebody deleted it, else create it, and requeue.
    case recreateZone
    /// The person removed the app's data in the settings: tell the app, follow the policy.
    case purgeZone
    /// Drop the change token, fetch in full, reconcile deletions by comparison.
    case refetch
    /// Halt until the account is back; the queue is kept.
    case awaitAccount
    /// Halt with the error as the reason.
    case halt
    /// Put the item on the list that needs attention, with its error; the rest goes on.
    case setAside
    /// Retry up to the bound, an item behind all others, then give up on the item or halt the
    /// session.
    case retryWithinBound
    /// Take it from the queue and tell the app, whose business it is from now on.
    case report
}

extension RecoveryAction {
    /// The recovery when the whole request failed.
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

    /// The recovery when one record of a request could not be saved.
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
        // What a record refers to, or what refers to it, may be in a later batch.
        case .changeTokenExpired, .partialFailure, .referenceViolation: .retryWithinBound
        default: forRequest(code)
        }
    }

    /// The recovery when one record of a request could not be deleted.
    public static func forDelete(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        // What shall be gone is gone, alone or with its zone.
        case .unknownItem, .zoneNotFound, .userDeletedZone: .confirm
        default: forSave(code)
        }
    }

    /// The recovery when one zone of a request could not be created or deleted.
    public static func forZone(_ code: FrameworkErrorCode) -> RecoveryAction {
        switch code {
        case .zoneNotFound, .userDeletedZone: .confirm
        case .batchRequestFailed, .operationCancelled: .requeue
        // One zone that cannot be is no reason to stop the others.
        case .invalidArguments, .permissionFailure, .badDatabase, .limitExceeded,
            .constraintViolation, .serverRejectedRequest:
            .setAside
        default: forRequest(code)
        }
    }
}
