import StratusRecords
import StratusWire

extension UsersSignOut: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = true
    public static let isRepeatable = false
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

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
