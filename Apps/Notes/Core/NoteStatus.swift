import CloudKit

/// What the app shows beside the note: whether the cloud can be used, the progress of syncing, and the last error.
public struct NoteStatus: Hashable, Sendable {
    public enum Step: String, Hashable, Sendable {
        /// Nothing has been requested yet.
        case local
        case waiting, saving, saved, offline
    }

    /// Nil until it was requested.
    public var availability: CKAccountStatus?
    public var step = Step.local
    /// What the app could not resolve by itself, and what to do about it.
    public var error: String?
    /// Whether the note was removed from the cloud; it is still here.
    public var wasRemoved = false

    public init() {}

    public var availabilitySentence: String {
        switch availability {
        case .available: "Signed in: the note is the same on all your devices."
        case .noAccount: "No user is signed in: the note stays on this device."
        case .restricted:
            "This account may not use the service: ask its operator. The note stays on this device."
        case .temporarilyUnavailable:
            "The service does not take this sign-in any more: sign in again. The note stays on this device."
        case .couldNotDetermine, nil:
            "Whether you are signed in is not known yet. The note stays on this device until then."
        }
    }

    public var stepSentence: String {
        if wasRemoved, step != .saving {
            return
                "The note was removed from the cloud. It is still here, and is uploaded with your next edit."
        }
        return switch step {
        case .local: "On this device."
        case .waiting: "On this device, not in the cloud yet."
        case .saving: "Saving…"
        case .saved: "In the cloud."
        case .offline: "Offline: changes wait on this device."
        }
    }

    /// One or two lines: availability or step, and the error.
    public var lines: [String] {
        let first = availability == .available ? stepSentence : availabilitySentence
        return [first] + (error.map { [$0] } ?? [])
    }
}

/// The message for an error, and whether the app tries again by itself.
struct NoteTrouble {
    var sentence: String
    /// Seconds until the service accepts requests again; nil if only the user can resolve the error.
    var retryAfterSeconds: Double?
}

extension NoteTrouble {
    init(_ error: any Error) {
        let sentence =
            switch error {
            case let error as CKError: Self.sentence(error.first.code, error.first)
            case CloudKitNoteError.newerVersionAvailable:
                "A newer version of the app wrote this note: update the app on this device."
            case CloudKitNoteError.noteNotFound:
                "The note in the cloud has no text: it is left as it is, and yours stays on this device."
            case CloudKitNoteError.unexpected:
                "The note in the cloud was not written by this app: it is left as it is, and yours stays on this device."
            default:
                "The note cannot be kept on this device: \((error as NSError).localizedDescription)"
            }
        self.init(
            sentence: sentence,
            retryAfterSeconds: (error as? CKError).flatMap { Self.retryAfterSeconds($0.first) })
    }

    private static func retryAfterSeconds(_ error: CKError) -> Double? {
        switch error.code {
        case .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable,
            .requestRateLimited, .zoneBusy:
            error.retryAfterSeconds ?? 0
        default: nil
        }
    }

    private static func sentence(_ code: CKError.Code, _ error: CKError) -> String {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost:
            "The service cannot be reached: trying again by itself."
        case .serviceUnavailable, .requestRateLimited, .zoneBusy:
            "The service is busy: trying again by itself."
        case .notAuthenticated, .accountTemporarilyUnavailable:
            "The service does not take this sign-in: sign in again."
        case .managedAccountRestricted, .permissionFailure:
            "This account may not save or fetch the note: ask the operator of the service."
        case .quotaExceeded:
            "The account has no room left: remove something there, then sync."
        case .limitExceeded: "The note is too large for the service: make it shorter."
        case .incompatibleVersion:
            "The service needs a newer version of the app: update it on this device."
        case .assetFileNotFound, .assetFileModified, .assetNotAvailable:
            "The note's text could not be sent or fetched: sync to try again."
        case .operationCancelled: "Syncing was interrupted: sync to try again."
        case .badContainer, .badDatabase, .missingEntitlement, .serverRejectedRequest,
            .invalidArguments, .internalError:
            "The service refuses this app: \(error.localizedDescription)"
        default: "Syncing failed for an unexpected reason: \(error.localizedDescription)"
        }
    }
}
