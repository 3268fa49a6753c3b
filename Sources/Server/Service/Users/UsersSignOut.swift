import StratusRecords
import StratusWire

extension UsersSignOut: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: true, isRepeatable: false,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        guard let session = context.caller.session else {
            throw ServiceError.invalid("A server has no session to end.")
        }
        try await components.accounts.endSession(session)
        return Answer()
    }
}
