import StratusRecords

/// An error of the service for the sync layer: its code, the retry-after and the last intact
/// version.
public struct SyncFailure: Error, Hashable, Sendable {
    /// The error code, from which ``RecoveryAction`` follows.
    public var code: FrameworkErrorCode

    /// How long the service asked to wait, in seconds.
    public var retryAfterSeconds: Double?

    /// With `changeTokenExpired`: the last version of the history that the device and the service
    /// share. Records that were received at or below it and are missing were deleted; records that
    /// were received above it were lost, and are sent again. Nil if the service names none: then
    /// missing records count as deleted, and are reported to the app.
    public var lastIntactVersion: Int64?

    /// With `changeTokenExpired` without a last intact version: a version up to which this device had everything. A
    /// fetch from the beginning lists all deletions after it, so a record without an answer that it does not list did
    /// not arrive. Nil if the service no longer knows them.
    public var deletionsAfterVersion: Int64?

    /// The framework's message, for a log or a status line.
    public var message: String

    /// Makes a failure; without `retryAfterSeconds` the session's own pauses apply.
    public init(
        _ code: FrameworkErrorCode, retryAfterSeconds: Double? = nil,
        lastIntactVersion: Int64? = nil, deletionsAfterVersion: Int64? = nil, message: String = ""
    ) {
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
        self.lastIntactVersion = lastIntactVersion
        self.deletionsAfterVersion = deletionsAfterVersion
        self.message = message
    }

    /// Makes a failure from an error; one that is not a `CKError` counts as an internal error.
    public init(_ error: any Error) {
        guard let error = error as? any FrameworkError else {
            self.init(.internalError, message: "\(error)")
            return
        }
        self.init(
            error.code, retryAfterSeconds: error.retryAfterSeconds,
            lastIntactVersion: error.lastIntactVersion,
            deletionsAfterVersion: error.deletionsAfterVersion, message: error.summary)
    }
}
