import StratusClient

/// An error of the service as the sync layer sees it: its code, and how long to wait.
public struct SyncFailure: Error, Hashable, Sendable {
    public var code: CKError.Code

    /// How long the service asked to wait, in seconds.
    public var retryAfterSeconds: Double?

    /// What the framework said, for a log or a status line.
    public var message: String

    public init(_ code: CKError.Code, retryAfterSeconds: Double? = nil, message: String = "") {
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
        self.message = message
    }
}
