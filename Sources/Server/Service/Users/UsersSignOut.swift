import StratusRecords
import StratusWire

extension UsersSignOut: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .endsSession, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in }
    )

    /// Ends the caller's session: none of its web-auth tokens is valid any more.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        guard let session = call.context.caller.session else {
            throw ServiceError.invalid(
                "The request is signed by a server, which has no session to end.")
        }
        try await call.components.accounts.endSession(session)
        return Answer()
    }
}
