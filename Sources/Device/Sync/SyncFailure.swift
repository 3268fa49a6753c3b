import StratusRecords

/// An error of the service as the sync layer sees it: its code, how long to wait, and what is intact.
public struct SyncFailure: Error, Hashable, Sendable {
    public var code: FrameworkErrorCode

    /// How long the service asked to wait, in seconds.
    public var retryAfterSeconds: Double?

    /// With `changeTokenExpired`: the last version of the history that the device and the service have in
    /// common. What was received at or below it and is missing was deleted; what was received above it was
    /// lost, and is sent again. Nil where the service does not say: then what is missing counts as deleted,
    /// and the app is told.
    public var lastIntactVersion: Int64?

    /// What the framework said, for a log or a status line.
    public var message: String

    public init(
        _ code: FrameworkErrorCode, retryAfterSeconds: Double? = nil,
        lastIntactVersion: Int64? = nil, message: String = ""
    ) {
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
        self.lastIntactVersion = lastIntactVersion
        self.message = message
    }

    /// Takes an error of the framework; whatever is no `CKError` counts as an internal error.
    public init(_ error: any Error) {
        guard let error = error as? any FrameworkError else {
            self.init(.internalError, message: "\(error)")
            return
        }
        self.init(
            error.code, retryAfterSeconds: error.retryAfterSeconds,
            lastIntactVersion: error.lastIntactVersion, message: error.summary)
    }
}
