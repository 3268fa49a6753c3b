/// An error with a code of the framework, for modules that do not know `CKError`.
package protocol FrameworkError: Error {
    var code: FrameworkErrorCode { get }

    /// How long to wait before the request may be repeated, in seconds.
    var retryAfterSeconds: Double? { get }

    /// The last version of the history that the device and the service have in common, if a change token expired and
    /// the service sent that version.
    var lastIntactVersion: Int64? { get }

    /// A version after which the service knows all deletions, if a change token expired and the service sent it.
    var deletionsAfterVersion: Int64? { get }

    /// What happened, for a log or a status line.
    var summary: String { get }
}
