import StratusWire

extension UsersCaller: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    /// The caller's record name, and to an app in which the caller can be found, name and e-mail address.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        Answer(identity: try await context.callersIdentity(in: components.directory))
    }
}
