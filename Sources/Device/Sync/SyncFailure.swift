import StratusRecords

/// An error of the service as the sync layer sees it: its code, and how long to wait.
public struct SyncFailure: Error, Hashable, Sendable {
    public var code: FrameworkErrorCode

    /// How long the service asked to wait, in seconds.
    public var retryAfterSeconds: Double?

    /// What the framework said, for a log or a status line.
    public var message: String

    public init(
        _ code: FrameworkErrorCode, retryAfterSeconds: Double? = nil, message: String = ""
    ) {
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
        self.message = message
    }

    /// Takes an error of the framework; whatever is no `CKError` counts as an internal error.
    public init(_ error: any Error) {
        guard let error = error as? any FrameworkError else {
            self.init(.internalError, message: "\(error)")
            return
        }
        self.init(
            error.code, retryAfterSeconds: error.retryAfterSeconds, message: error.summary)
    }
}
