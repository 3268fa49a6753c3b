import StratusWire

extension UsersPermission: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let user = try context.user()
        let directory = components.directory
        if let isDiscoverable = request.userDiscoverability {
            try await directory.setDiscoverable(isDiscoverable, user, in: context.address)
            return Answer(userDiscoverability: isDiscoverable)
        }
        return Answer(
            userDiscoverability: try await directory.isDiscoverable(user, in: context.address))
    }
}
