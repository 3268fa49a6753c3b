/// An error with a code of the framework: what `CKError` is to those who do not know the framework.
package protocol FrameworkError: Error {
    var code: FrameworkErrorCode { get }

    /// How long to wait before the request may be repeated, in seconds.
    var retryAfterSeconds: Double? { get }

    /// The last version of the history that the device and the service have in common, where a change token
    /// expired and the service said so.
    var lastIntactVersion: Int64? { get }

    /// What happened, for a log or a status line.
    var summary: String { get }
}
