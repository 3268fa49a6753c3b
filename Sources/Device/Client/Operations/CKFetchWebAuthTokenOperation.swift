import Foundation

/// Fetches a web-auth token of the user for a web page or a server that has its own API token.
///
/// The token belongs to the device's session and ends with it.
public final class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The API token, which must belong to the container; an unknown one fails with
    /// `CKError.notAuthenticated`.
    public var apiToken: String?

    /// Called once at the end with the web-auth token, or with the error of the operation.
    public var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)?

    var oldTokenBlock: ((String?, (any Error)?) -> Void)?
    private var token: String?

    /// Makes an operation that fetches a token for clients that use this API token.
    public convenience init(apiToken: String) {
        self.init(operationID: UUID().uuidString)
        self.apiToken = apiToken
    }

    override func perform() async throws {
        guard let apiToken else {
            throw CKError(
                .invalidArguments,
                "The operation has no API token; set apiToken before you add it.")
        }
        let session = session()
        let token = try await ContainerSession(core: session.core, pace: session.sender.pace)
            .webAuthToken(forAPIToken: apiToken)
        deliver { self.token = token }
    }

    override func end(_ error: CKError?) {
        let missing = CKError(
            .internalError, "The service returned no token; try again, or update the service.")
        let result: Result<String, any Error> =
            if let error { .failure(error) } else {
                token.map { .success($0) } ?? .failure(missing)
            }
        fetchWebAuthTokenResultBlock?(result)
        oldTokenBlock?(result.success, result.failure)
        fetchWebAuthTokenResultBlock = nil
        oldTokenBlock = nil
        super.end(error)
    }
}
