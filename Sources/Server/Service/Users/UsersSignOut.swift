import StratusRecords
import StratusWire

extension UsersSignOut: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = true

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard let session = context.caller.session else {
            throw ServiceError.invalid("A server has no session to end.")
        }
        try await context.service.accounts.endSession(session)
        return Answer()
    }
}
